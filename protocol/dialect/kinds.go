package dialect

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// str is a string. An empty string is left out.
var str = kind[string]{
	read:  readString,
	write: func(_ *Dialect, dst []byte, s *string) ([]byte, error) { return jsontext.Quote(dst, *s), nil },
	none:  func(s *string) bool { return *s == "" },
}

// enum is a string that must be one of values. Encoding does not check it.
func enum[S ~string](values ...S) kind[S] {
	return kind[S]{
		read:  func(_ *Dialect, to *S, v []byte) *fail { return readEnum(to, v, values...) },
		write: func(_ *Dialect, dst []byte, s *S) ([]byte, error) { return jsontext.Quote(dst, string(*s)), nil },
		none:  func(s *S) bool { return *s == "" },
	}
}

// checked is like enum, but encoding returns an error with the format wrong for any other value. An
// empty value is encoded as the value of the parameter usual.
func checked[S ~string](wrong string, usual S, values ...S) kind[S] {
	k := enum(values...)
	k.write = func(_ *Dialect, dst []byte, s *S) ([]byte, error) {
		is := cmp.Or(*s, usual)
		if !slices.Contains(values, is) {
			return dst, fmt.Errorf(wrong, is)
		}
		return jsontext.Quote(dst, string(is)), nil
	}
	return k
}

// level is a log level.
var level = enum(protocol.Levels()...)

// boolean is true or false. A false is left out.
var boolean = kind[bool]{
	read:  readBool,
	write: func(_ *Dialect, dst []byte, b *bool) ([]byte, error) { return strconv.AppendBool(dst, *b), nil },
	none:  func(b *bool) bool { return !*b },
}

// integer is a whole number. A zero is left out.
func integer[N int | int64]() kind[N] {
	return kind[N]{
		read:  readInt[N],
		write: func(_ *Dialect, dst []byte, n *N) ([]byte, error) { return strconv.AppendInt(dst, int64(*n), 10), nil },
		none:  func(n *N) bool { return *n == 0 },
	}
}

// number is any finite number.
var number = kind[float64]{
	read: readFloat,
	write: func(_ *Dialect, dst []byte, f *float64) ([]byte, error) {
		if math.IsNaN(*f) || math.IsInf(*f, 0) {
			return dst, &badValue{reason: fmt.Errorf("JSON has no number %v", *f)}
		}
		return jsontext.AppendFloat(dst, *f), nil
	},
}

// fraction is a number that must be from 0 to 1. Encoding does not check it.
var fraction = kind[float64]{read: readFraction, write: number.write}

func readFraction(d *Dialect, to *float64, v []byte) *fail {
	if f := readFloat(d, to, v); f != nil {
		return f
	}
	if *to < 0 || *to > 1 {
		return refuse("must be between 0 and 1")
	}
	return nil
}

// id is a JSON-RPC ID. If a member that must be written has none, the error is missing.
func id(missing string) kind[jsonrpc.ID] {
	return kind[jsonrpc.ID]{
		read: readID,
		write: func(_ *Dialect, dst []byte, id *jsonrpc.ID) ([]byte, error) {
			if id.IsZero() {
				return dst, errors.New(missing)
			}
			return id.Append(dst), nil
		},
		none: func(id *jsonrpc.ID) bool { return id.IsZero() },
	}
}

func appendTime(dst []byte, t time.Time) []byte {
	dst = t.UTC().AppendFormat(append(dst, '"'), time.RFC3339Nano)
	return append(dst, '"')
}

// binary is data in base64.
var binary = kind[[]byte]{
	read: readBase64,
	write: func(_ *Dialect, dst []byte, data *[]byte) ([]byte, error) {
		return jsontext.QuoteBase64(dst, *data), nil
	},
}

// encoded is any value, which stays encoded. An empty one is null.
var encoded = kind[json.RawMessage]{
	read: func(_ *Dialect, to *json.RawMessage, v []byte) *fail {
		*to = v
		return nil
	},
	write: func(_ *Dialect, dst []byte, v *json.RawMessage) ([]byte, error) { return appendRaw(dst, *v), nil },
}

// rawObject is an object that stays encoded. An empty one is left out.
var rawObject = kind[json.RawMessage]{
	read: readObject[json.RawMessage],
	write: func(_ *Dialect, dst []byte, v *json.RawMessage) ([]byte, error) {
		if jsontext.KindOf(*v) != jsontext.KindObject {
			return dst, &badValue{reason: errors.New("must be an object")}
		}
		return appendRaw(dst, *v), nil
	},
	none: func(v *json.RawMessage) bool { return len(*v) == 0 },
}

// rawObjects is an object of objects that stay encoded. Encoding sorts them by name.
var rawObjects = kind[map[string]json.RawMessage]{
	read: func(d *Dialect, to *map[string]json.RawMessage, v []byte) *fail { return readMap(d, to, v, readObject) },
	write: func(_ *Dialect, dst []byte, m *map[string]json.RawMessage) ([]byte, error) {
		return appendSorted(dst, *m, appendObject), nil
	},
	none: func(m *map[string]json.RawMessage) bool { return *m == nil },
}

// texts is an object of strings. Encoding sorts them by name.
var texts = kind[map[string]string]{
	read: readTexts,
	write: func(_ *Dialect, dst []byte, m *map[string]string) ([]byte, error) {
		return appendSorted(dst, *m, jsontext.Quote), nil
	},
	none: func(m *map[string]string) bool { return *m == nil },
}

// readTexts reads an object of strings. A member that is null is absent (ADR 8).
func readTexts(d *Dialect, to *map[string]string, v []byte) *fail {
	nulls := false
	f := readMap(d, to, v, func(d *Dialect, to *string, v []byte) *fail {
		if jsontext.KindOf(v) == jsontext.KindNull {
			nulls = true
			return nil
		}
		return readString(d, to, v)
	})
	if f != nil || !nulls {
		return f
	}
	for key, value := range jsontext.Members(v) {
		if jsontext.KindOf(value) == jsontext.KindNull {
			delete(*to, key.String())
		}
	}
	return nil
}

func appendSorted[V any](dst []byte, m map[string]V, value func(dst []byte, v V) []byte) []byte {
	dst = append(dst, '{')
	for _, name := range slices.Sorted(maps.Keys(m)) {
		dst = append(jsontext.Quote(comma(dst), name), ':')
		dst = value(dst, m[name])
	}
	return append(dst, '}')
}

// meta is a _meta object. An empty one is left out.
var meta = kind[protocol.Meta]{
	read: readMeta,
	write: func(_ *Dialect, dst []byte, m *protocol.Meta) ([]byte, error) {
		dst, err := appendAnyMap(dst, *m, maxNesting)
		if err != nil {
			err = &badValue{reason: err}
		}
		return dst, err
	},
	none: func(m *protocol.Meta) bool { return len(*m) == 0 },
}

// object is an object with these members.
func object[F any](ms members[F]) kind[F] { return kind[F]{read: ms.decode, write: ms.append} }

// filled is like object, but an object without members is left out.
func filled[F any](ms members[F]) kind[F] {
	return kind[F]{
		read: ms.decode,
		write: func(d *Dialect, dst []byte, v *F) ([]byte, error) {
			before := len(dst)
			dst, err := ms.append(d, dst, v)
			if len(dst) == before+len("{}") {
				dst = dst[:before]
			}
			return dst, err
		},
	}
}

// pointer is a value that is left out if its pointer is nil.
func pointer[F any](k kind[F]) kind[*F] {
	return kind[*F]{
		read: func(d *Dialect, to **F, v []byte) *fail {
			*to = new(F)
			return k.read(d, *to, v)
		},
		write: func(d *Dialect, dst []byte, v **F) ([]byte, error) { return k.write(d, dst, *v) },
		none:  func(v **F) bool { return *v == nil },
	}
}

// list is an array. An empty one is left out. Decoding an empty array returns a slice that is not
// nil.
func list[F any](k kind[F]) kind[[]F] {
	return kind[[]F]{
		read: func(d *Dialect, to *[]F, v []byte) *fail { return readList(d, to, v, k.read) },
		write: func(d *Dialect, dst []byte, all *[]F) ([]byte, error) {
			dst = append(dst, '[')
			for i := range *all {
				var err error
				if dst, err = k.write(d, comma(dst), &(*all)[i]); err != nil {
					return dst, err
				}
			}
			return append(dst, ']'), nil
		},
		none: func(all *[]F) bool { return len(*all) == 0 },
	}
}

// present is a flag whose wire form is an empty object.
var present = kind[bool]{
	read:  readPresent,
	write: func(_ *Dialect, dst []byte, _ *bool) ([]byte, error) { return append(dst, "{}"...), nil },
	none:  boolean.none,
}
