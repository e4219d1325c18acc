package plan

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding/gotype"
	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
)

// absurd reports whether text begins like a number and has an exponent beyond the bound of
// numbers: types that compute with such a text, such as big.Rat, write it out, and ten bytes
// become megabytes. Both sides of a fraction count.
func absurd(text string) bool {
	for part := range strings.SplitSeq(text, "/") {
		part = strings.TrimLeft(part, " +-")
		if part == "" || part[0] != '.' && (part[0] < '0' || part[0] > '9') {
			continue
		}
		i := strings.LastIndexAny(part, "eEpP")
		if i < 0 {
			continue
		}
		digits := strings.TrimLeft(strings.ReplaceAll(part[i+1:], "_", ""), "+-0")
		if digits == "" || strings.Trim(digits, "0123456789") != "" {
			continue
		}
		if n, err := strconv.Atoi(digits); err != nil || n > jsonedit.MaxNumberText {
			return true
		}
	}
	return false
}

// holdsBig reports whether t is a type of package math/big, or a struct around one, as types of
// decimals are. depth bounds how deep it looks.
func holdsBig(t reflect.Type, depth int) bool {
	t = gotype.Deref(t)
	switch {
	case t.PkgPath() == "math/big":
		return true
	case t.Kind() != reflect.Struct || depth == 0:
		return false
	}
	for f := range t.Fields() {
		if holdsBig(f.Type, depth-1) {
			return true
		}
	}
	return false
}
