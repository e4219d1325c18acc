package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// readMeta reads a _meta object into the shapes of encoding/json.
func readMeta(to *protocol.Meta, v []byte) *fail {
	if jsontext.KindOf(v) != jsontext.KindObject {
		return refuse("must be an object")
	}
	m := make(map[string]any, jsontext.Len(v))
	for key, e := range jsontext.Members(v) {
		name := key.String()
		if _, ok := m[name]; ok {
			return refuse("is repeated").in(name)
		}
		m[name] = anyOf(e)
	}
	*to = m
	return nil
}

// anyOf is a value as encoding/json has it: nil, bool, string, []any,
// map[string]any and float64, or json.Number where a float64 would be another number.
func anyOf(v []byte) any {
	switch jsontext.KindOf(v) {
	case jsontext.KindBool:
		return v[0] == 't'
	case jsontext.KindNumber:
		return numberOf(string(v))
	case jsontext.KindString:
		s, _ := jsontext.String(v)
		return s
	case jsontext.KindArray:
		list := make([]any, 0, jsontext.Len(v))
		for e := range jsontext.Elements(v) {
			list = append(list, anyOf(e))
		}
		return list
	case jsontext.KindObject:
		m := make(map[string]any, jsontext.Len(v))
		for key, e := range jsontext.Members(v) {
			m[key.String()] = anyOf(e)
		}
		return m
	default:
		return nil
	}
}

// numberOf is a float64 if that is sure to name the same number: a decimal of
// at most 15 digits survives the way there and back.
func numberOf(token string) any {
	digits := 0
	for _, c := range []byte(token) {
		if c >= '0' && c <= '9' {
			digits++
		}
	}
	f, err := strconv.ParseFloat(token, 64)
	normal := math.Abs(f) >= 0x1p-1022 || strings.Trim(token, "-0.") == "" // smaller ones have fewer digits
	if err == nil && (digits <= 15 && normal || string(appendFloat(nil, f)) == token) {
		return f
	}
	return json.Number(token)
}

// appendAny appends a value that user code made. The usual types are written
// here; others go through encoding/json.
func appendAny(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case string:
		return jsontext.Quote(dst, v), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return dst, fmt.Errorf("encoding %v: JSON has no such number", v)
		}
		return appendFloat(dst, v), nil
	case map[string]any:
		return appendAnyMap(dst, v)
	case protocol.Meta:
		return appendAnyMap(dst, v)
	case []any:
		return appendAnyList(dst, v)
	case json.RawMessage:
		if len(v) == 0 {
			return append(dst, "null"...), nil
		}
		return appendMarshalled(dst, v)
	default:
		return appendMarshalled(dst, v)
	}
}

func appendAnyMap(dst []byte, m map[string]any) ([]byte, error) {
	if m == nil {
		return append(dst, "null"...), nil
	}
	dst = append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsontext.Quote(dst, name), ':')
		var err error
		if dst, err = appendAny(dst, m[name]); err != nil {
			return dst, fmt.Errorf("member %q: %w", name, err)
		}
	}
	return append(dst, '}'), nil
}

func appendAnyList(dst []byte, list []any) ([]byte, error) {
	if list == nil {
		return append(dst, "null"...), nil
	}
	dst = append(dst, '[')
	for i, e := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendAny(dst, e); err != nil {
			return dst, fmt.Errorf("item %d: %w", i, err)
		}
	}
	return append(dst, ']'), nil
}

// maxNesting is how deep a value may be nested: clients refuse what is too deep, and the whole answer with it.
const maxNesting = 1000

// appendMarshalled is the way of user types, without HTML escaping and checked
// like input: a MarshalJSON or a RawMessage may hold anything.
func appendMarshalled(dst []byte, v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return dst, fmt.Errorf("encoding a value: %w", err)
	}
	text := bytes.TrimSpace(buf.Bytes())
	if err := jsontext.Check(text, jsontext.Limits{Depth: maxNesting}); err != nil {
		return dst, fmt.Errorf("encoding a value: %w", err)
	}
	return jsontext.Compact(dst, text), nil
}

// appendFloat writes a finite number the way encoding/json does. Progress is mostly
// counted: whole numbers are quick.
func appendFloat(dst []byte, f float64) []byte {
	form := byte('f')
	abs := math.Abs(f)
	if abs < 1<<53 && f != 0 && f == math.Trunc(f) { // not -0
		return strconv.AppendInt(dst, int64(f), 10)
	}
	if abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		form = 'e'
	}
	return strconv.AppendFloat(dst, f, form, -1, 64)
}
