package plan

import (
	"slices"
	"strconv"

	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// spot is where a value stands in a text.
type spot struct {
	value []byte
	there bool  // false: the text has no such value
	place []int // the ordinal of each step of the path
}

// seek finds the values at all of the paths, in one walk over the text.
func seek(raw []byte, paths []string) map[string]spot {
	root := &sought{}
	for _, path := range paths {
		s := root
		for rest := path; rest != ""; {
			var part string
			part, rest = jsonedit.FirstStep(rest)
			s = s.child(jsonedit.Unescaped(part))
		}
		s.path, s.wanted = path, true
	}
	out := make(map[string]spot, len(paths))
	root.walk(raw, nil, out)
	return out
}

// sought is a tree of the paths that are looked for.
type sought struct {
	path   string
	wanted bool
	below  map[string]*sought
}

func (s *sought) child(name string) *sought {
	if s.below == nil {
		s.below = map[string]*sought{}
	}
	if s.below[name] == nil {
		s.below[name] = &sought{}
	}
	return s.below[name]
}

// walk visits the values below raw. It looks into strings that contain JSON, since values of a repaired
// document were there.
func (s *sought) walk(raw []byte, place []int, out map[string]spot) {
	if s.wanted {
		out[s.path] = spot{raw, true, slices.Clone(place)}
	}
	if len(s.below) == 0 {
		return
	}
	if inner, ok := jsonedit.Unquoted(raw, jsontext.KindObject, jsontext.KindArray); ok {
		raw = inner
	}
	n := 0
	visit := func(name, value []byte) (more bool) {
		if next := s.below[string(name)]; next != nil { // the first of the members of one name counts
			delete(s.below, string(name))
			next.walk(value, append(place, n), out)
		}
		n++
		return len(s.below) > 0
	}
	var digits [20]byte
	for item := range jsontext.Elements(raw) {
		if !visit(strconv.AppendInt(digits[:0], int64(n), 10), item) {
			break
		}
	}
	for key, value := range jsontext.Members(raw) {
		if !visit(key.Bytes(), value) {
			break
		}
	}
	for _, left := range s.below {
		left.miss(append(place, n), out)
	}
}

// miss records for the paths from s on that there is no value.
func (s *sought) miss(place []int, out map[string]spot) {
	if s.wanted {
		out[s.path] = spot{place: slices.Clone(place)}
	}
	for _, next := range s.below {
		next.miss(place, out)
	}
}
