package binding

import (
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// splitPointer is the parent's pointer and the last name of a path.
func splitPointer(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", ""
	}
	return path[:i], unescaped(path[i+1:])
}

// firstStep cuts the first part, still escaped, off a pointer that is not
// empty. A part may be empty: "/a/" is the member "" of the member a.
func firstStep(path string) (part, rest string) {
	part, _, more := strings.Cut(path[1:], "/")
	if more {
		rest = path[1+len(part):]
	}
	return part, rest
}

func unescaped(part string) string {
	return strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
}

// edit replaces the value at path by what fn makes of it; false if there is none.
func edit(raw []byte, path string, fn func([]byte) []byte) ([]byte, bool) {
	if path == "" {
		return fn(raw), true
	}
	part, rest := firstStep(path)
	part = unescaped(part)
	if jsontext.KindOf(raw) == jsontext.KindArray {
		return editItem(raw, part, rest, fn)
	}
	found := false
	out := []byte{'{'}
	for key, value := range jsontext.Members(raw) {
		if !found && key.Is(part) {
			if next, ok := edit(value, rest, fn); ok {
				value, found = next, true
			}
		}
		out = appendMember(out, key.String(), value)
	}
	return append(out, '}'), found
}

func editItem(raw []byte, part, rest string, fn func([]byte) []byte) ([]byte, bool) {
	found := false
	var items [][]byte
	for item := range jsontext.Elements(raw) {
		if jsontext.PointerIndex("", len(items)) == "/"+part {
			if next, ok := edit(item, rest, fn); ok {
				item, found = next, true
			}
		}
		items = append(items, item)
	}
	return list(items), found
}

func appendMember(object []byte, name string, value []byte) []byte {
	if len(object) > 1 {
		object = append(object, ',')
	}
	object = jsontext.Quote(object, name)
	object = append(object, ':')
	return append(object, value...)
}

// withMember adds a member at the end.
func withMember(object []byte, name string, value []byte) []byte {
	out := withoutMember(object, name)
	return append(appendMember(out[:len(out)-1], name, value), '}')
}

func withoutMember(object []byte, name string) []byte {
	out := []byte{'{'}
	for key, value := range jsontext.Members(object) {
		if !key.Is(name) {
			out = appendMember(out, key.String(), value)
		}
	}
	return append(out, '}')
}

// dropRepeated keeps the first of the members of one name.
func dropRepeated(object []byte, name string) []byte {
	out := []byte{'{'}
	seen := false
	for key, value := range jsontext.Members(object) {
		if key.Is(name) {
			if seen {
				continue
			}
			seen = true
		}
		out = appendMember(out, key.String(), value)
	}
	return append(out, '}')
}
