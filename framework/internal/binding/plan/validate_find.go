package plan

import (
	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// finder looks up values by path. The first look-ups search the text. After some it is indexed,
// so that a long list of items without an optional member does not take quadratic time.
type finder struct {
	raw   []byte
	count int
	index map[string][]byte
}

func (f *finder) find(path string) ([]byte, bool) {
	const few = 16
	f.count++
	if f.count <= few {
		return jsonedit.ValueAt(f.raw, path)
	}
	if f.index == nil {
		f.index = map[string][]byte{}
		f.add("", f.raw)
	}
	value, ok := f.index[path]
	return value, ok
}

func (f *finder) add(path string, raw []byte) {
	f.index[path] = raw
	if inner, ok := jsonedit.Unquoted(raw, jsontext.KindObject, jsontext.KindArray); ok {
		raw = inner
	}
	for key, value := range jsontext.Members(raw) {
		f.add(jsontext.Pointer(path, key.String()), value)
	}
	i := 0
	for item := range jsontext.Elements(raw) {
		f.add(jsontext.PointerIndex(path, i), item)
		i++
	}
}
