package dialect

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// fail is the reason why a value was refused, and the path of that value. The path is built from
// the inside out, so that it costs nothing if nothing fails.
type fail struct{ path, reason string }

func refuse(reason string) *fail { return &fail{reason: reason} }

// in prefixes the path with a member name.
func (f *fail) in(member string) *fail {
	member = shortened(member)
	if plainName(member) {
		f.path = "." + member + f.path
	} else {
		f.path = "[" + string(jsontext.Quote(nil, member)) + "]" + f.path
	}
	return f
}

// at prefixes the path with an array index.
func (f *fail) at(i int) *fail {
	f.path = "[" + strconv.Itoa(i) + "]" + f.path
	return f
}

// fault returns f as a Fault. root is the start of the path: "params" or "result".
func (f *fail) fault(root string) *protocol.Fault {
	return protocol.Faultf(protocol.FaultInvalidParams, "%s%s %s", root, f.path, f.reason)
}

// plainName reports whether a member name can follow a dot in a path.
func plainName(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}

func readString(_ *Dialect, to *string, v []byte) *fail {
	s, ok := jsontext.String(v)
	if !ok {
		return refuse("must be a string")
	}
	*to = s
	return nil
}

// readEnum reads a string that must be in values.
func readEnum[S ~string](to *S, v []byte, values ...S) *fail {
	s, ok := jsontext.String(v)
	if !ok {
		return refuse("must be a string")
	}
	if !slices.Contains(values, S(s)) {
		return refuse("must be one of " + quoted(values))
	}
	*to = S(s)
	return nil
}

func quoted[S ~string](values []S) string {
	var b []byte
	for i, v := range values {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = jsontext.Quote(b, string(v))
	}
	return string(b)
}

func readBool(_ *Dialect, to *bool, v []byte) *fail {
	if jsontext.KindOf(v) != jsontext.KindBool {
		return refuse("must be true or false")
	}
	*to = v[0] == 't'
	return nil
}

func readInt[N int | int64](_ *Dialect, to *N, v []byte) *fail {
	n, ok := jsontext.Int64(v)
	if !ok || int64(N(n)) != n {
		return refuse("must be an integer")
	}
	*to = N(n)
	return nil
}

func readFloat(_ *Dialect, to *float64, v []byte) *fail {
	if jsontext.KindOf(v) != jsontext.KindNumber {
		return refuse("must be a number")
	}
	n, err := strconv.ParseFloat(string(v), 64)
	if err != nil {
		return refuse("is out of range")
	}
	*to = n
	return nil
}

func readID(_ *Dialect, to *jsonrpc.ID, v []byte) *fail {
	id, ok := jsonrpc.ParseID(v)
	if !ok {
		return refuse("must be a string or an integer")
	}
	*to = id
	return nil
}

// readObject reads an object and keeps it raw.
func readObject[B ~[]byte](_ *Dialect, to *B, v []byte) *fail {
	v, f := objectOf(v)
	if f != nil {
		return f
	}
	*to = B(v)
	return nil
}

// objectOf returns v if it is an object. It also accepts an empty list as an empty object, because
// PHP encodes an empty object like that.
func objectOf(v []byte) ([]byte, *fail) {
	switch {
	case jsontext.KindOf(v) == jsontext.KindObject:
		return v, nil
	case jsontext.IsEmptyArray(v):
		return []byte("{}"), nil
	}
	return nil, refuse("must be an object")
}

// readPresent sets to if the member is an object.
func readPresent(_ *Dialect, to *bool, v []byte) *fail {
	if _, f := objectOf(v); f != nil {
		return f
	}
	*to = true
	return nil
}

// firstItems is the number of items of a list that have room before they are read. The items of a
// hostile server are much shorter than their Go values.
const firstItems = 1024

// readList reads an array. The slice of an empty array is not nil.
func readList[F any](d *Dialect, to *[]F, v []byte, item func(d *Dialect, to *F, v []byte) *fail) *fail {
	if jsontext.KindOf(v) != jsontext.KindArray {
		return refuse("must be an array")
	}
	*to = make([]F, 0, min(jsontext.Len(v), firstItems))
	for e := range jsontext.Elements(v) {
		i := len(*to)
		*to = append(*to, *new(F))
		if f := item(d, &(*to)[i], e); f != nil {
			return f.at(i)
		}
	}
	return nil
}

// readMap reads an object with any names. The map of an empty object is not nil.
func readMap[F any](d *Dialect, to *map[string]F, v []byte, item func(d *Dialect, to *F, v []byte) *fail) *fail {
	v, f := objectOf(v)
	if f != nil {
		return f
	}
	m := make(map[string]F, jsontext.Len(v))
	for key, e := range jsontext.Members(v) {
		name := key.String()
		if _, ok := m[name]; ok {
			return refuse("is repeated").in(name)
		}
		var t F
		if f := item(d, &t, e); f != nil {
			return f.in(name)
		}
		m[name] = t
	}
	*to = m
	return nil
}
