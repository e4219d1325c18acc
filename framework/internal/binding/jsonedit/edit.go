package jsonedit

import (
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// SplitPointer is the parent's pointer and the last name of a path.
func SplitPointer(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", ""
	}
	return path[:i], Unescaped(path[i+1:])
}

// FirstStep cuts the first part, still escaped, off a pointer that is not
// empty. A part may be empty: "/a/" is the member "" of the member a.
func FirstStep(path string) (part, rest string) {
	part, _, more := strings.Cut(path[1:], "/")
	if more {
		rest = path[1+len(part):]
	}
	return part, rest
}

// Unescaped returns the member name that one part of a JSON pointer stands for.
func Unescaped(part string) string {
	return strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
}

// Edit replaces the value at path by the result of fn. It returns false if there is no value.
func Edit(raw []byte, path string, fn func([]byte) []byte) ([]byte, bool) {
	if path == "" {
		return fn(raw), true
	}
	part, rest := FirstStep(path)
	part = Unescaped(part)
	if jsontext.KindOf(raw) == jsontext.KindArray {
		return editItem(raw, part, rest, fn)
	}
	found := false
	out := []byte{'{'}
	for key, value := range jsontext.Members(raw) {
		if !found && key.Is(part) {
			if next, ok := Edit(value, rest, fn); ok {
				value, found = next, true
			}
		}
		out = AppendMember(out, key.String(), value)
	}
	return append(out, '}'), found
}

func editItem(raw []byte, part, rest string, fn func([]byte) []byte) ([]byte, bool) {
	found := false
	index, ok := Index(part)
	items := make([][]byte, 0, jsontext.Len(raw))
	for item := range jsontext.Elements(raw) {
		if ok && len(items) == index {
			if next, ok := Edit(item, rest, fn); ok {
				item, found = next, true
			}
		}
		items = append(items, item)
	}
	return List(items), found
}

// AppendMember appends a member to an object that lacks its closing brace.
func AppendMember(object []byte, name string, value []byte) []byte {
	if len(object) > 1 {
		object = append(object, ',')
	}
	object = jsontext.Quote(object, name)
	object = append(object, ':')
	return append(object, value...)
}

// WithMember adds a member at the end.
func WithMember(object []byte, name string, value []byte) []byte {
	out := WithoutMember(object, name)
	return append(AppendMember(out[:len(out)-1], name, value), '}')
}

// WithoutMember returns the object without all members of this name.
func WithoutMember(object []byte, name string) []byte { return keepFirst(object, name, 0) }

// DropRepeated keeps the first of the members of one name.
func DropRepeated(object []byte, name string) []byte { return keepFirst(object, name, 1) }

// keepFirst returns the object with the first n members of this name, and all others.
func keepFirst(object []byte, name string, n int) []byte {
	out := []byte{'{'}
	for key, value := range jsontext.Members(object) {
		if key.Is(name) {
			if n--; n < 0 {
				continue
			}
		}
		out = AppendMember(out, key.String(), value)
	}
	return append(out, '}')
}

// Replaced gives the first member with this name another value, and leaves it at its place.
func Replaced(object []byte, name string, value []byte) []byte {
	out, _ := Edit(object, jsontext.Pointer("", name), func([]byte) []byte { return value })
	return out
}
