package jsontext

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// DuplicateError is the error for an object that has two members of the same name. RFC 8259 does
// not define the meaning of such an object. An attacker can exploit two programs that interpret it
// differently.
type DuplicateError struct {
	Path string // JSON pointer to the object; "" is the value itself
	Name string // the repeated name, unescaped; untrusted text of the peer
}

// Error implements error. It limits the length of the name and the path.
func (e *DuplicateError) Error() string {
	return fmt.Sprintf("member %.64q is repeated in the object at %.256q", e.Name, e.Path)
}

// Unique returns a *DuplicateError if any object in a checked value, at any depth, repeats a member
// name. Names are compared after unescaping, so "a" and "\u0061" are equal. The time is linear in
// the value. All small objects together cost one allocation.
func Unique(value []byte) error {
	u := uniqueness{text: value}
	if _, ok := u.value(skipSpace(value, 0), 0); ok {
		return nil
	}
	// The steps of the path were collected from the inside out.
	slices.Reverse(u.path)
	return &DuplicateError{Path: strings.Join(u.path, ""), Name: u.name}
}

// fewNames is a number of names in an object. Up to it, names are compared one by one. For more
// names a set is used, because 50,000 names would need 10^9 comparisons.
const fewNames = 16

// uniqueness is the state of one call of Unique.
type uniqueness struct {
	text  []byte
	names [][]byte // names of the open objects, the innermost last
	name  string   // the repeated name, once found
	path  []string // steps from the object that repeats name outwards
}

// value checks the value at i and returns the index after it. The walk is one pass. With an
// iterator for each level, the time would be quadratic in the depth.
func (u *uniqueness) value(i, depth int) (end int, ok bool) {
	if i < len(u.text) && depth < maxDepth {
		switch u.text[i] {
		case '{':
			return u.object(i, depth)
		case '[':
			return u.array(i, depth)
		}
	}
	return skipValue(u.text, i), true
}

func (u *uniqueness) array(i, depth int) (end int, ok bool) {
	i, more := inside(u.text, i, ']')
	for n := 0; more; n++ {
		if i, ok = u.value(i, depth+1); !ok {
			u.path = append(u.path, PointerIndex("", n))
			return i, false
		}
		i, more = following(u.text, i)
	}
	return min(i+1, len(u.text)), true
}

func (u *uniqueness) object(i, depth int) (end int, ok bool) {
	base := len(u.names)
	var many map[string]struct{}
	i, more := inside(u.text, i, '}')
	for more {
		key, at, checked := nameAt(u.text, i)
		if !checked {
			return len(u.text), true
		}
		name := key.Bytes()
		if many, ok = u.add(base, many, name); !ok {
			u.name = string(name)
			return i, false
		}
		if i, ok = u.value(at, depth+1); !ok {
			u.path = append(u.path, Pointer("", string(name)))
			return i, false
		}
		i, more = following(u.text, i)
	}
	u.names = u.names[:base]
	return min(i+1, len(u.text)), true
}

// add records a name of the object whose names begin at base. It returns false if the object
// already has the name.
func (u *uniqueness) add(base int, many map[string]struct{}, name []byte) (map[string]struct{}, bool) {
	if many != nil {
		_, known := many[string(name)]
		many[string(name)] = struct{}{}
		return many, !known
	}
	for _, other := range u.names[base:] {
		if bytes.Equal(other, name) {
			return nil, false
		}
	}
	u.names = append(u.names, name)
	if len(u.names)-base < fewNames {
		return nil, true
	}
	many = make(map[string]struct{}, 4*fewNames)
	for _, other := range u.names[base:] {
		many[string(other)] = struct{}{}
	}
	return many, true
}
