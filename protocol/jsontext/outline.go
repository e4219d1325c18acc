package jsontext

import (
	"iter"
	"math"
)

const (
	// outlined is the depth of an Outline: a frame, its params, and the objects in the params.
	outlined = 3
	// spans is the maximum number of members in an Outline.
	spans = 64
	// none is the index of a span that does not exist.
	none = -1
)

// Outline records the positions of a text's members while Check scans the text, so that they need
// not be scanned again. It covers the outermost object and the objects in it, three levels deep.
//
// If the text has more than 64 such members, the Outline records none of them, and its Objects scan
// the text instead. The zero Outline is ready for use. An Outline can be reused for another text.
// The Objects of the first text are then invalid. An Outline is not safe for concurrent use with
// Check or Forget.
type Outline struct {
	text  []byte
	n     int // number of spans; larger than spans if the text has too many
	spans [spans]span
}

// span is the position of a member.
type span struct {
	name, nameEnd, value, end uint32
	next                      int32 // index of the next member of the same object, or none
	depth                     uint8
	escaped                   bool // the name contains a backslash
}

// Check is like the function Check, but also records the members of text. It returns the same
// errors. After an error the outline has no members.
func (o *Outline) Check(text []byte, lim Limits) error {
	o.text, o.n = text, 0
	if uint64(len(text)) > math.MaxUint32 {
		o.n = spans + 1
	}
	c := checker{text: text, lim: lim.bounded(), outline: o}
	err := c.run()
	if err != nil {
		o.n = 0
	}
	return err
}

// begin is called when the name of a member was read, before its value. It returns the index of the
// member's span. If the outline is full, it returns none. before is the index of the previous member of
// the same object, or none.
func (o *Outline) begin(before, depth, name, nameEnd, value int, escaped bool) int {
	n := o.n
	if n >= spans {
		o.n = spans + 1
		return none
	}
	s := &o.spans[n]
	s.name, s.nameEnd, s.value = uint32(name), uint32(nameEnd), uint32(value) //nolint:gosec // Check looks at the size
	s.next, s.depth, s.escaped = none, uint8(depth), escaped                  //nolint:gosec // at most outlined
	if before != none {
		o.spans[before].next = int32(n) //nolint:gosec // at most spans
	}
	o.n = n + 1
	return n
}

// end is called when the value of span i was read.
func (o *Outline) end(i, at int) {
	if i != none {
		o.spans[i].end = uint32(at) //nolint:gosec // Check looks at the size
	}
}

// Forget removes the reference to the text. Objects of the outline have no members after that.
func (o *Outline) Forget() { o.text, o.n = nil, 0 }

// Object returns the text of the last Check as an Object.
func (o *Outline) Object() Object {
	if o.n > spans {
		return Bare(o.text)
	}
	return Object{raw: o.text, outline: o, at: none}
}

// Object is a checked value with access to its members. If it has an Outline, it uses the positions
// recorded there. The zero Object is absent. An absent Object, and a value that is not an object,
// has no members.
type Object struct {
	raw     []byte
	outline *Outline // nil if the members must be found by scanning
	at      int      // index of the span whose value is raw; none if raw is the whole text
}

// Bare returns the object in raw, without an outline. Its members are found by scanning.
func Bare(raw []byte) Object { return Object{raw: raw} }

// Raw returns the value as it is written, or nil if it is absent.
func (o Object) Raw() []byte { return o.raw }

// Members is like the function Members for the value.
func (o Object) Members() iter.Seq2[Key, []byte] {
	return func(yield func(Key, []byte) bool) {
		if o.outline == nil {
			walkMembers(o.raw, yield)
			return
		}
		for i := o.first(); i != none; i = o.outline.after(i) {
			if !yield(o.outline.member(i)) {
				return
			}
		}
	}
}

// Inners is like Members, but yields the values as Objects that use the same outline.
func (o Object) Inners() iter.Seq2[Key, Object] {
	return func(yield func(Key, Object) bool) {
		if o.outline == nil {
			walkMembers(o.raw, func(key Key, raw []byte) bool { return yield(key, Bare(raw)) })
			return
		}
		for i := o.first(); i != none; i = o.outline.after(i) {
			if key, raw := o.outline.member(i); !yield(key, o.outline.object(i, raw)) {
				return
			}
		}
	}
}

// Member is like the function Member for the value.
func (o Object) Member(name string) (value []byte, ok bool) {
	inner, ok := o.Inner(name)
	return inner.raw, ok
}

// Inner is like Member, but returns the value as an Object that uses the same outline.
func (o Object) Inner(name string) (inner Object, ok bool) {
	if o.outline == nil {
		raw, ok := Member(o.raw, name)
		return Bare(raw), ok
	}
	for i := o.first(); i != none; i = o.outline.after(i) {
		if o.outline.named(i, name) {
			_, raw := o.outline.member(i)
			return o.outline.object(i, raw), true
		}
	}
	return Object{}, false
}

// object returns the value of span i as an Object. At the deepest level, the Object has no outline.
func (o *Outline) object(i int, raw []byte) Object {
	if o.spans[i].depth == outlined {
		return Bare(raw)
	}
	return Object{raw: raw, outline: o, at: i}
}

// first returns the span of the first member, or none. That is the span after the object's own if
// it is deeper by exactly one. The members of an object in an array are deeper by two.
func (o Object) first() int {
	i, depth := o.at+1, uint8(1)
	if o.at != none {
		depth += o.outline.spans[o.at].depth
	}
	if i < o.outline.n && o.outline.spans[i].depth == depth {
		return i
	}
	return none
}

// after returns the span of the member that follows span i, or none.
func (o *Outline) after(i int) int { return int(o.spans[i].next) }

// named reports whether the member of span i has this name.
func (o *Outline) named(i int, name string) bool {
	s := &o.spans[i]
	return (s.escaped || int(s.nameEnd-s.name) == len(name)+2) && o.key(i).Is(name)
}

func (o *Outline) key(i int) Key {
	s := &o.spans[i]
	return Key{raw: o.text[s.name:s.nameEnd:s.nameEnd], escaped: s.escaped}
}

func (o *Outline) member(i int) (Key, []byte) {
	s := &o.spans[i]
	return o.key(i), o.text[s.value:s.end:s.end]
}
