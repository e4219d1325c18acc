package dialect

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// member is one member of a wire object whose model is a T: a row of the object's table. Decoding and
// encoding use the same row. Most rows come from required or optional, which make the three functions
// from a kind and the address of a Go field.
//
// The functions append to a slice instead of calling a writer. A writer that is passed to a function
// value would escape to the heap. For the same reason, t escapes.
type member[T any] struct{ row }

// row is a member without the type of its model. Its functions get a pointer to the model: what walks
// over rows is compiled once, not for each of some eighty models.
type row struct {
	name     string
	in       revisions // they have the member; others ignore it and do not write it
	required revisions // they require the member
	nullable bool      // null is a value; otherwise, a null is the same as an absent member

	read  func(d *Dialect, t any, v []byte) *fail
	write func(d *Dialect, dst []byte, t any) ([]byte, error) // may append nothing, which leaves out the member
	none  func(t any) bool                                    // leaves out a member that is not required; may be nil
}

// model returns the model that t points to. Tables are made of rows of one model, so that t has this type.
func model[T any](t any) *T {
	p, _ := t.(*T)
	return p
}

// kind reads and writes the values of one Go type. Kinds compose: list(pointer(str)) is a kind of
// []*string.
type kind[F any] struct {
	read  func(d *Dialect, to *F, v []byte) *fail
	write func(d *Dialect, dst []byte, v *F) ([]byte, error)
	none  func(v *F) bool // the value means that there is no member; nil if no value does
}

// required returns the row of a member that each revision requires.
func required[T, F any](name string, k kind[F], at func(*T) *F) member[T] {
	m := optional(name, k, at)
	m.required = always
	return m
}

// optional returns the row of a member that is left out if the kind's none reports true.
func optional[T, F any](name string, k kind[F], at func(*T) *F) member[T] {
	read, write, none := k.read, k.write, k.none
	m := row{
		name:  name,
		in:    always,
		read:  func(d *Dialect, t any, v []byte) *fail { return read(d, at(model[T](t)), v) },
		write: func(d *Dialect, dst []byte, t any) ([]byte, error) { return write(d, dst, at(model[T](t))) },
	}
	if none != nil {
		m.none = func(t any) bool { return none(at(model[T](t))) }
	}
	return member[T]{m}
}

// nullable is like optional, but null is a value of the member.
func nullable[T, F any](name string, k kind[F], at func(*T) *F) member[T] {
	m := optional(name, k, at)
	m.nullable = true
	return m
}

// whole returns the row of an optional member whose kind uses several fields of the object.
func whole[T any](name string, k kind[T]) member[T] {
	return optional(name, k, func(t *T) *T { return t })
}

// decoded returns the row of a member that is not written with the table.
func decoded[T any](name string, read func(d *Dialect, t *T, v []byte) *fail) member[T] {
	return whole(name, kind[T]{
		read:  read,
		write: func(_ *Dialect, dst []byte, _ *T) ([]byte, error) { return dst, nil },
	})
}

// constant returns the row of a member that always has the same text, such as the type of a block.
// Decoding ignores its value, because the value has selected the table.
func constant[T any](name, text string) member[T] {
	return member[T]{row{
		name: name, in: always, required: always,
		read:  func(*Dialect, any, []byte) *fail { return nil },
		write: func(_ *Dialect, dst []byte, _ any) ([]byte, error) { return jsontext.Quote(dst, text), nil },
	}}
}

// since returns m for the revisions from first on.
func (m member[T]) since(first protocol.Revision) member[T] { return m.only(since(first)) }

// only returns m for these revisions.
func (m member[T]) only(in revisions) member[T] {
	m.in, m.required = in, m.required&in
	return m
}

// requiredIn returns m as a member that these revisions require.
func (m member[T]) requiredIn(in revisions) member[T] {
	m.required = in
	return m
}

// reading returns m with a function that reads the member at once, for the most frequent members: a
// call of a kind and of the address of its field costs some nanoseconds.
func (m member[T]) reading(read func(d *Dialect, t *T, v []byte) *fail) member[T] {
	m.read = func(d *Dialect, t any, v []byte) *fail { return read(d, model[T](t), v) }
	return m
}

// when returns m as a member that is written only if written returns true.
func (m member[T]) when(written func(t *T) bool) member[T] {
	m.none, m.required = func(t any) bool { return !written(model[T](t)) }, 0
	return m
}

// members are the members of an object whose model is a T, in the order of encoding, at most 64.
type members[T any] struct{ all table }

// table is members without the type of the model.
type table []row

// rows returns the table of an object.
func rows[T any](all ...member[T]) members[T] {
	ms := members[T]{make(table, len(all))}
	for i := range all {
		ms.all[i] = all[i].row
	}
	return ms
}

// decode reads an object into t. A nil raw is an object without members.
func (ms members[T]) decode(d *Dialect, t *T, raw []byte) *fail {
	return ms.all.decode(d, t, jsontext.Bare(raw))
}

// decodeObject is like decode, but uses the outline of the object.
func (ms members[T]) decodeObject(d *Dialect, t *T, o jsontext.Object) *fail {
	return ms.all.decode(d, t, o)
}

// append appends t as an object.
func (ms members[T]) append(d *Dialect, dst []byte, t *T) ([]byte, error) {
	return ms.all.append(d, dst, t)
}

// appendInto appends the members of t to an object that is already open.
func (ms members[T]) appendInto(d *Dialect, dst []byte, t *T) ([]byte, error) {
	return ms.all.appendInto(d, dst, t)
}

// decode reads an object into t.
func (ms table) decode(d *Dialect, t any, o jsontext.Object) *fail {
	raw := o.Raw()
	if raw != nil && jsontext.KindOf(raw) != jsontext.KindObject {
		if !jsontext.IsEmptyArray(raw) {
			return refuse("must be an object")
		}
		o, raw = jsontext.Object{}, nil
	}
	bit, seen, unknown := d.bit, uint64(0), 0
	for key, v := range o.Members() {
		i := ms.find(key)
		if i < 0 {
			unknown++
			continue
		}
		m := &ms[i]
		if seen>>i&1 != 0 {
			return refuse("is repeated").in(m.name)
		}
		seen |= 1 << i
		if m.in&bit == 0 || m.required&bit == 0 && !m.nullable && jsontext.KindOf(v) == jsontext.KindNull {
			continue // some clients write absent members as null (ADR 8)
		}
		if f := m.read(d, t, v); f != nil {
			return f.in(m.name)
		}
	}
	if f := ms.missing(d, seen); f != nil || unknown < 2 {
		return f
	}
	return repeated(raw)
}

func (ms table) find(key jsontext.Key) int {
	name := key.Bytes()
	for i := range ms {
		if string(name) == ms[i].name {
			return i
		}
	}
	return -1
}

func (ms table) missing(d *Dialect, seen uint64) *fail {
	for i := range ms {
		if ms[i].required&d.bit != 0 && seen>>i&1 == 0 {
			return refuse("is missing").in(ms[i].name)
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

// append appends t as an object.
func (ms table) append(d *Dialect, dst []byte, t any) ([]byte, error) {
	dst, err := ms.appendInto(d, append(dst, '{'), t)
	return append(dst, '}'), err
}

// appendInto appends the members of t to an object that is already open.
func (ms table) appendInto(d *Dialect, dst []byte, t any) ([]byte, error) {
	for i := range ms {
		m := &ms[i]
		if !m.in.has(d) || m.none != nil && !m.required.has(d) && m.none(t) {
			continue
		}
		before := len(dst)
		dst = appendKey(dst, m.name)
		value := len(dst)
		var err error
		if dst, err = m.write(d, dst, t); err != nil {
			if bad, ok := errors.AsType[*badValue](err); ok && bad.member == "" {
				bad.member = m.name
			}
			return dst, err
		}
		if len(dst) == value {
			dst = dst[:before]
		}
	}
	return dst, nil
}

// badValue is the error of a value that its member cannot have. appendInto adds the member.
type badValue struct {
	member string
	reason error
}

// Error returns the member and the reason.
func (b *badValue) Error() string { return fmt.Sprintf("member %s: %v", b.member, b.reason) }

// Unwrap returns the reason.
func (b *badValue) Unwrap() error { return b.reason }

// encode appends t as an object. After an error, it returns the original dst and the error, which
// names the revision.
func encode[T any](d *Dialect, dst []byte, ms members[T], t *T) ([]byte, error) {
	b, err := ms.append(d, dst, t)
	if err != nil {
		return dst, d.lacks(err)
	}
	return b, nil
}

// lacks adds the revision to an error of encoding.
func (d *Dialect) lacks(err error) error { return fmt.Errorf("revision %s: %w", d.rev, err) }
