package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// readMeta reads a _meta object into the types of encoding/json.
func readMeta(d *Dialect, to *protocol.Meta, v []byte) *fail {
	return readMap(d, (*map[string]any)(to), v, func(_ *Dialect, to *any, v []byte) *fail {
		*to = jsontext.Any(v)
		return nil
	})
}

// appendAny appends a value from user code. It encodes the usual types itself, and others with
// encoding/json.
func appendAny(dst []byte, v any) ([]byte, error) { return appendNested(dst, v, maxNesting) }

// appendNested is like appendAny, for a value with at most this many levels.
func appendNested(dst []byte, v any, levels int) ([]byte, error) {
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
		return jsontext.AppendFloat(dst, v), nil
	case map[string]any:
		return appendAnyMap(dst, v, levels)
	case protocol.Meta:
		return appendAnyMap(dst, v, levels)
	case []any:
		return appendAnyList(dst, v, levels)
	case json.RawMessage:
		if len(v) == 0 {
			return append(dst, "null"...), nil
		}
	}
	return appendMarshalled(dst, v, levels)
}

// errNesting is returned without the path of the value, because the path has a thousand parts.
var errNesting = fmt.Errorf("the value is nested more than %d deep, or contains itself", maxNesting)

// inside adds the place of a value to an error.
func inside(err error, format string, place any) error {
	if errors.Is(err, errNesting) {
		return err
	}
	return fmt.Errorf(format+": %w", place, err)
}

func appendAnyMap(dst []byte, m map[string]any, levels int) ([]byte, error) {
	if m == nil {
		return append(dst, "null"...), nil
	}
	if levels == 0 {
		return dst, errNesting
	}
	dst = append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsontext.Quote(dst, name), ':')
		var err error
		if dst, err = appendNested(dst, m[name], levels-1); err != nil {
			return dst, inside(err, "member %q", name)
		}
	}
	return append(dst, '}'), nil
}

func appendAnyList(dst []byte, list []any, levels int) ([]byte, error) {
	if list == nil {
		return append(dst, "null"...), nil
	}
	if levels == 0 {
		return dst, errNesting
	}
	dst = append(dst, '[')
	for i, e := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendNested(dst, e, levels-1); err != nil {
			return dst, inside(err, "item %d", i)
		}
	}
	return append(dst, ']'), nil
}

// maxNesting is the maximum depth of a value. Clients refuse deeper values together with the whole
// response.
const maxNesting = 1000

// appendMarshalled encodes a value with encoding/json, without HTML escaping. It checks the result
// like input, because a MarshalJSON or a RawMessage may return anything.
func appendMarshalled(dst []byte, v any, levels int) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return dst, fmt.Errorf("encoding a value: %w", err)
	}
	text := bytes.TrimSpace(buf.Bytes())
	if err := jsontext.Check(text, jsontext.Limits{Depth: max(levels, 1)}); err != nil { // 0 would be no limit
		return dst, fmt.Errorf("encoding a value: %w", err)
	}
	return jsontext.Compact(dst, text), nil
}
