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

// field is one member of an object that decodes into a T.
type field[T any] struct {
	name string
	need need
	read func(d *Dialect, t *T, v []byte) *fail
}

type need uint8

const (
	optional need = iota // null is the same as an absent member
	nullable             // optional, and null is a value
	required
)

// since makes revisions without the member ignore it like an unknown one.
func since[T any](has func(*Dialect) bool, read func(*Dialect, *T, []byte) *fail) func(*Dialect, *T, []byte) *fail {
	return func(d *Dialect, t *T, v []byte) *fail {
		if !has(d) {
			return nil
		}
		return read(d, t, v)
	}
}

// Arguments of since for members that do not depend on a trait.
func hasTitles(d *Dialect) bool          { return d.titles }
func hasMetas(d *Dialect) bool           { return d.metas }
func hasIcons(d *Dialect) bool           { return d.icons }
func hasLastModified(d *Dialect) bool    { return d.lastModified }
func hasToolAnnotations(d *Dialect) bool { return d.toolAnnotations }
func hasCompletions(d *Dialect) bool     { return d.completions }
func hasContext(d *Dialect) bool         { return d.context }
func hasProgressMessage(d *Dialect) bool { return d.progressMessage }
func hasRootsChanged(d *Dialect) bool    { return d.rootsChanged }

// fields are the members of an object, at most 64.
type fields[T any] []field[T]

// decode reads an object into t. A nil raw is an object without members.
func (fs fields[T]) decode(d *Dialect, t *T, raw []byte) *fail {
	return fs.decodeObject(d, t, jsontext.Bare(raw))
}

// decodeObject is like decode, but uses the outline of the object.
func (fs fields[T]) decodeObject(d *Dialect, t *T, o jsontext.Object) *fail {
	raw := o.Raw()
	if raw != nil && jsontext.KindOf(raw) != jsontext.KindObject {
		if !jsontext.IsEmptyArray(raw) {
			return refuse("must be an object")
		}
		o, raw = jsontext.Object{}, nil
	}
	var seen uint64
	unknown := 0
	for key, v := range o.Members() {
		i := fs.find(key)
		if i < 0 {
			unknown++
			continue
		}
		if seen>>i&1 != 0 {
			return refuse("is repeated").in(fs[i].name)
		}
		seen |= 1 << i
		if fs[i].need == optional && jsontext.KindOf(v) == jsontext.KindNull {
			continue // some clients write absent members as null (ADR 8)
		}
		if f := fs[i].read(d, t, v); f != nil {
			return f.in(fs[i].name)
		}
	}
	if f := fs.missing(seen); f != nil || unknown < 2 {
		return f
	}
	return repeated(raw)
}

func (fs fields[T]) find(key jsontext.Key) int {
	name := key.Bytes()
	for i := range fs {
		if string(name) == fs[i].name {
			return i
		}
	}
	return -1
}

func (fs fields[T]) missing(seen uint64) *fail {
	for i := range fs {
		if fs[i].need == required && seen>>i&1 == 0 {
			return refuse("is missing").in(fs[i].name)
		}
	}
	return nil
}

// repeated refuses an object with a name that occurs twice. It is called only for objects with
// several unknown members, which are rare.
func repeated(object []byte) *fail {
	n := jsontext.Len(object)
	if n < 2 {
		return nil
	}
	names := make([]string, 0, n)
	for key := range jsontext.Members(object) {
		names = append(names, key.String())
	}
	slices.Sort(names)
	for i := 1; i < n; i++ {
		if names[i] == names[i-1] {
			return refuse("is repeated").in(names[i])
		}
	}
	return nil
}

func readString(to *string, v []byte) *fail {
	s, ok := jsontext.String(v)
	if !ok {
		return refuse("must be a string")
	}
	*to = s
	return nil
}

func readStringPtr(to **string, v []byte) *fail {
	*to = new(string)
	return readString(*to, v)
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

func readBool(to *bool, v []byte) *fail {
	if jsontext.KindOf(v) != jsontext.KindBool {
		return refuse("must be true or false")
	}
	*to = v[0] == 't'
	return nil
}

func readBoolPtr(to **bool, v []byte) *fail {
	*to = new(bool)
	return readBool(*to, v)
}

func readInt[N int | int64](to *N, v []byte) *fail {
	n, ok := jsontext.Int64(v)
	if !ok || int64(N(n)) != n {
		return refuse("must be an integer")
	}
	*to = N(n)
	return nil
}

func readFloat(to *float64, v []byte) *fail {
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

func readFloatPtr(to **float64, v []byte) *fail {
	*to = new(float64)
	return readFloat(*to, v)
}

// readPriority reads a number from 0 to 1.
func readPriority(to **float64, v []byte) *fail {
	if f := readFloatPtr(to, v); f != nil {
		return f
	}
	if **to < 0 || **to > 1 {
		return refuse("must be between 0 and 1")
	}
	return nil
}

func readID(to *jsonrpc.ID, v []byte) *fail {
	id, ok := jsonrpc.ParseID(v)
	if !ok {
		return refuse("must be a string or an integer")
	}
	*to = id
	return nil
}

// readObject reads an object and keeps it raw.
func readObject[B ~[]byte](to *B, v []byte) *fail {
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
func readPresent(to *bool, v []byte) *fail {
	if _, f := objectOf(v); f != nil {
		return f
	}
	*to = true
	return nil
}

// readList reads an array. The slice of an empty array is not nil.
func readList[T any](to *[]T, v []byte, item func(to *T, v []byte) *fail) *fail {
	if jsontext.KindOf(v) != jsontext.KindArray {
		return refuse("must be an array")
	}
	list := make([]T, 0, jsontext.Len(v))
	for e := range jsontext.Elements(v) {
		var t T
		if f := item(&t, e); f != nil {
			return f.at(len(list))
		}
		list = append(list, t)
	}
	*to = list
	return nil
}

// readMap reads an object with any names. The map of an empty object is not nil.
func readMap[T any](to *map[string]T, v []byte, item func(to *T, v []byte) *fail) *fail {
	v, f := objectOf(v)
	if f != nil {
		return f
	}
	m := make(map[string]T, jsontext.Len(v))
	for key, e := range jsontext.Members(v) {
		name := key.String()
		if _, ok := m[name]; ok {
			return refuse("is repeated").in(name)
		}
		var t T
		if f := item(&t, e); f != nil {
			return f.in(name)
		}
		m[name] = t
	}
	*to = m
	return nil
}

// readObjects reads an object whose values are objects, which it keeps raw.
func readObjects[B ~[]byte](to *map[string]B, v []byte) *fail {
	return readMap(to, v, readObject[B])
}
