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
	var n int
	if jsontext.KindOf(raw) == jsontext.KindArray {
		n = s.items(raw, place, out)
	} else {
		n = s.members(raw, place, out)
	}
	for _, left := range s.below {
		left.miss(append(place, n), out)
	}
}

// items visits the items of an array, and forgets those that it has found. It returns how many it has seen.
func (s *sought) items(array []byte, place []int, out map[string]spot) (n int) {
	indexes := make([]int, 0, len(s.below))
	for part := range s.below {
		if i, ok := jsonedit.Index(part); ok {
			indexes = append(indexes, i)
		}
	}
	slices.Sort(indexes)
	for item := range jsontext.Elements(array) {
		if len(indexes) == 0 {
			break
		}
		if n == indexes[0] {
			part := strconv.Itoa(n)
			s.below[part].walk(item, append(place, n), out)
			delete(s.below, part)
			indexes = indexes[1:]
		}
		n++
	}
	return n
}

// members is the same for an object. The first of the members of one name counts.
func (s *sought) members(object []byte, place []int, out map[string]spot) (n int) {
	for key, value := range jsontext.Members(object) {
		if len(s.below) == 0 {
			break
		}
		name := key.Bytes()
		if next := s.below[string(name)]; next != nil {
			delete(s.below, string(name))
			next.walk(value, append(place, n), out)
		}
		n++
	}
	return n
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
