package rawschema

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/kagami-mcp/kagami/framework/internal/decimal"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// value is a parsed JSON value. Its bytes alias the text where possible.
type value struct {
	kind  jsontext.Kind
	raw   []byte
	name  []byte  // of a member of an object
	text  []byte  // of a string
	items []value // of an array or an object
}

// document parses a text that has passed jsontext.Check and jsontext.Unique.
func document(text []byte) value { return parse(bytes.TrimSpace(text)) }

func parse(raw []byte) value {
	v := value{kind: jsontext.KindOf(raw), raw: raw}
	switch v.kind {
	case jsontext.KindString:
		v.text, _ = jsontext.Text(raw)
	case jsontext.KindArray:
		v.items = make([]value, 0, jsontext.Len(raw))
		for item := range jsontext.Elements(raw) {
			v.items = append(v.items, parse(item))
		}
	case jsontext.KindObject:
		v.items = make([]value, 0, jsontext.Len(raw))
		for key, item := range jsontext.Members(raw) {
			member := parse(item)
			member.name = key.Bytes()
			v.items = append(v.items, member)
		}
	}
	return v
}

// member is the member of an object with a name, or nil.
func (v *value) member(name string) *value {
	if v.kind != jsontext.KindObject {
		return nil
	}
	for i := range v.items {
		if string(v.items[i].name) == name {
			return &v.items[i]
		}
	}
	return nil
}

// isTrue reports whether there is a value, and it is true.
func (v *value) isTrue() bool { return v != nil && v.kind == jsontext.KindBool && v.raw[0] == 't' }

// strings are the strings in an array.
func (v *value) strings() []string {
	out := make([]string, len(v.items))
	for i := range v.items {
		out[i] = string(v.items[i].text)
	}
	return out
}

// appendKey appends a key that is the same exactly for equal values. Values are equal in the
// sense of JSON Schema: the order of members and the spelling of numbers and texts do not
// matter.
func (v *value) appendKey(dst []byte) []byte {
	switch v.kind {
	case jsontext.KindString:
		return appendText(dst, '"', v.text)
	case jsontext.KindNumber:
		if d, ok := decimal.Of(v.raw); ok {
			return append(d.Append(dst), ';')
		}
		return append(append(dst, v.raw...), ';')
	case jsontext.KindArray:
		dst = append(dst, '[')
		for i := range v.items {
			dst = v.items[i].appendKey(dst)
		}
		return append(dst, ']')
	case jsontext.KindObject:
		dst = append(dst, '{')
		members := slices.Clone(v.items)
		slices.SortFunc(members, func(a, b value) int { return bytes.Compare(a.name, b.name) })
		for i := range members {
			dst = members[i].appendKey(appendText(dst, ':', members[i].name))
		}
		return append(dst, '}')
	}
	return append(dst, v.raw[0]) // the first letter of null, true or false
}

// appendText puts the length first, so that no escapes are needed.
func appendText(dst []byte, mark byte, text []byte) []byte {
	dst = append(strconv.AppendInt(append(dst, mark), int64(len(text)), 10), mark)
	return append(dst, text...)
}
