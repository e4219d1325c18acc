package jsontext

import (
	"strconv"
	"strings"
)

// Pointer appends a member name to a JSON pointer (RFC 6901), with ~ and /
// escaped. The pointer to the whole text is "".
func Pointer(path, name string) string {
	if strings.ContainsAny(name, "~/") {
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
	}
	return path + "/" + name
}

// PointerIndex appends an array index to a JSON pointer.
func PointerIndex(path string, i int) string {
	return path + "/" + strconv.Itoa(i)
}
