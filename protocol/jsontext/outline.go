package jsontext

import (
	"iter"
	"math"
)

const (
	// outlined is how deep an Outline looks: a frame, its params, and what is in them.
	outlined = 3
	// spans is how many members it remembers.
	spans = 64
	// none stands for a span that is not there.
	none = -1
)

// Outline remembers where the members of a text are that Check has read anyway: those
// of the outermost object and of the objects in it, three levels deep. Where there are
// many it remembers none, and they are looked for again. The zero Outline is ready; one
// may be used again for another text, then the Objects of the first are void.
type Outline struct {
	text  []byte
	n     int // of spans; beyond them: there are too many
	spans [spans]span
	last  [outlined + 1]int // the last span of each depth, in what is open there
}

// span is where a member is. The value has no end as long as it is being read.
type span struct {
	name, nameEnd, value, end uint32
	next                      int32 // the member after it, or none
	depth                     uint8
	escaped                   bool // there is a backslash in the name
}

// Check is the function of that name, and remembers.
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

// open notes that an object or an array begins at this depth: none of its members was read.
func (o *Outline) open(depth int) { o.last[depth] = none }

// begin notes a member whose name was read; its value follows.
func (o *Outline) begin(depth, name, nameEnd, value int, escaped bool) {
	n := o.n
	if n >= spans {
		o.n = spans + 1
		return
	}
	s := &o.spans[n]
	s.name, s.nameEnd, s.value, s.end = uint32(name), uint32(nameEnd), uint32(value), 0 //nolint:gosec // Check looks at the size
	s.next, s.depth, s.escaped = none, uint8(depth), escaped                            //nolint:gosec // at most outlined
	if before := o.last[depth]; before != none {
		o.spans[before].next = int32(n) //nolint:gosec // at most spans
	}
	o.last[depth] = n
	o.n = n + 1
}

// end notes that a value at this depth was read: of a member, or of an array, in which
// there is no span to end.
func (o *Outline) end(depth, at int) {
	if i := o.last[depth]; i != none && o.spans[i].end == 0 {
		o.spans[i].end = uint32(at) //nolint:gosec // Check looks at the size
	}
}

// Forget lets go of the text. Objects of it have no members any more.
func (o *Outline) Forget() { o.text, o.n = nil, 0 }

// Object is the text that was checked.
func (o *Outline) Object() Object {
	if o.n > spans {
		return Bare(o.text)
	}
	return Object{raw: o.text, outline: o, at: none}
}

// Object is a checked value whose members are wanted, with what is known about them.
// The zero Object is absent, and has none, like a value that is no object.
type Object struct {
	raw     []byte
	outline *Outline // nil: nothing is known
	at      int      // the span that raw is the value of; none: it is the whole text
}

// Bare is an object of which nothing is known.
func Bare(raw []byte) Object { return Object{raw: raw} }

// Raw is the value as it is written, nil if it is absent.
func (o Object) Raw() []byte { return o.raw }

// Members is the function of that name.
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

// Inners is Members for values whose own members are wanted.
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

// Member is the function of that name.
func (o Object) Member(name string) (value []byte, ok bool) {
	inner, ok := o.Inner(name)
	return inner.raw, ok
}

// Inner is Member for a value whose own members are wanted.
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

// object is the value of a span, which may be too deep for an outline.
func (o *Outline) object(i int, raw []byte) Object {
	if o.spans[i].depth == outlined {
		return Bare(raw)
	}
	return Object{raw: raw, outline: o, at: i}
}

// first is the span of the first member: the one after the object's own, if it is deeper by
// one. What is in an array is deeper by two.
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

// after is the span of the member after that of span i.
func (o *Outline) after(i int) int { return int(o.spans[i].next) }

// named says whether that is the name of a member.
func (o *Outline) named(i int, name string) bool { return o.key(i).Is(name) }

func (o *Outline) key(i int) Key {
	s := &o.spans[i]
	return Key{raw: o.text[s.name:s.nameEnd:s.nameEnd], escaped: s.escaped}
}

func (o *Outline) member(i int) (Key, []byte) {
	s := &o.spans[i]
	return o.key(i), o.text[s.value:s.end:s.end]
}
