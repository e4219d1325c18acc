package rawschema

import "github.com/kagami-mcp/kagami/protocol/jsontext"

// Schema is a compiled schema, or one inside it. It is immutable and safe for
// concurrent use.
type Schema struct {
	source *value
	home   *resource
	never  bool      // the schema false, which nothing satisfies
	first  []keyword // if one fails, the value is of another kind than meant, and faults of the others would be noise
	rest   []keyword
	tracks bool // one of rest must know which items are evaluated
	static bool // of a schema that Compile returns: no verdict depends on the dynamic scope
}

// keyword judges values by one keyword of a schema, or by a few that belong together.
type keyword struct {
	kind  jsontext.Kind // kind of the values that judge is for
	judge check
}

// check reports faults to r. If seen is not nil, check marks the items of v that it has evaluated
// in it.
type check func(r *run, v *value, seen []bool) bool

func (k keyword) check(r *run, v *value, seen []bool) bool {
	return k.kind != all && k.kind != v.kind || k.judge(r, v, seen)
}

// Failure is one fault of a value. Its bytes are the value's and the schema's;
// they must not be changed.
type Failure struct {
	Path    string   // JSON Pointer of the value that is at fault
	Value   []byte   // that value
	Keyword string   // the keyword that is not satisfied, such as minimum; "false" for the schema false
	Want    []byte   // the keyword's own value
	Names   []string // the members that are missing, too many, or named wrongly
	Known   []string // for surplus members: the names in properties, in their order
	Schemas [][]byte // for missing members: the schema of each in properties, or nil
}

// Check judges a value, which must have passed jsontext.Check and
// jsontext.Unique. It returns the first faults, most at most, and the number of
// all; a value without fault has none.
func (s *Schema) Check(raw []byte, most int) (faults []Failure, total int) {
	v := document(raw)
	r := s.run(most, 0)
	s.check(r, &v, nil)
	return r.faults, r.total
}

// Accepts reports whether a value has no faults. It stops at the first fault.
func (s *Schema) Accepts(raw []byte) bool {
	v := document(raw)
	return s.check(s.run(0, 1), &v, nil)
}

// run is the judgement of one value.
type run struct {
	faults []Failure
	most   int
	total  int
	quiet  int // above zero: faults are not reported
	frames []frame
	path   []step

	remembers bool              // verdicts do not depend on the dynamic scope
	verdicts  map[frame]verdict // of recursive schemas
}

func (s *Schema) run(most, quiet int) *run {
	const usual = 8 // the depth of most values and schemas
	return &run{most: most, quiet: quiet, remembers: s.static, frames: make([]frame, 0, usual), path: make([]step, 0, usual)}
}

// frame is a schema that is judging a value. All frames together are the dynamic scope (2020-12
// core 7.1).
type frame struct {
	schema *Schema
	value  *value
}

type step struct {
	name  []byte // nil for an element
	index int
}

func (s *Schema) check(r *run, v *value, seen []bool) bool {
	if s.never {
		return r.fail(v, operand{"false", s.source})
	}
	if len(s.first)+len(s.rest) == 0 {
		return true
	}
	if r.goesRound(s, v) {
		r.remembers, r.verdicts = false, nil // verdicts inside a circle depend on where it was entered
		return r.fail(v, operand{"$ref", s.source})
	}
	r.frames = append(r.frames, frame{s, v})
	ok := s.judge(r, v, seen)
	r.frames = r.frames[:len(r.frames)-1]
	return ok
}

// goesRound reports whether references lead back to s without going deeper into the value. Frames of
// one value are together, so that deep values are not slow.
func (r *run) goesRound(s *Schema, v *value) bool {
	for i := len(r.frames) - 1; i >= 0 && r.frames[i].value == v; i-- {
		if r.frames[i].schema == s {
			return true
		}
	}
	return false
}

func (s *Schema) judge(r *run, v *value, seen []bool) bool {
	for _, k := range s.first {
		if !k.check(r, v, nil) {
			return false
		}
	}
	// Unevaluated items are those that this schema has not evaluated. What its neighbors have
	// evaluated does not count (2020-12 core 11.3), so it begins with none.
	own := seen
	if s.tracks && len(v.items) > 0 {
		own = make([]bool, len(v.items))
	}
	ok := true
	for _, k := range s.rest {
		if !k.check(r, v, own) {
			ok = false
			if r.quiet > 0 {
				return false
			}
		}
	}
	if ok && s.tracks {
		merge(seen, own)
	}
	return ok
}

// fail reports a fault and returns false.
func (r *run) fail(v *value, o operand) bool {
	return r.report(Failure{Value: v.raw, Keyword: o.keyword, Want: o.raw}, 1)
}

// report records a fault that counts as n, and returns false.
func (r *run) report(f Failure, n int) bool {
	if r.quiet > 0 {
		return false
	}
	r.total += n
	if len(r.faults) < r.most {
		f.Path = r.pointer()
		r.faults = append(r.faults, f)
	}
	return false
}

func (r *run) pointer() string {
	path := ""
	for _, s := range r.path {
		if s.name != nil {
			path = jsontext.Pointer(path, string(s.name))
		} else {
			path = jsontext.PointerIndex(path, s.index)
		}
	}
	return path
}

// inside lets a schema judge an item of parent.
func (r *run) inside(s *Schema, parent *value, i int) bool {
	item := &parent.items[i]
	r.path = append(r.path, step{item.name, i})
	ok := s.check(r, item, nil)
	r.path = r.path[:len(r.path)-1]
	return ok
}

// quietly lets a schema judge the value itself without reporting faults.
func (r *run) quietly(s *Schema, v *value, seen []bool) bool {
	r.quiet++
	ok := s.check(r, v, seen)
	r.quiet--
	return ok
}

// branch lets a schema judge the value itself without reporting faults. What it has evaluated
// counts only if it accepts.
func (r *run) branch(s *Schema, v *value, seen []bool) bool {
	if seen == nil {
		return r.quietly(s, v, nil)
	}
	mine := make([]bool, len(seen))
	if !r.quietly(s, v, mine) {
		return false
	}
	merge(seen, mine)
	return true
}

func merge(seen, more []bool) {
	for i := range seen {
		seen[i] = seen[i] || more[i]
	}
}

func mark(seen []bool, i int) {
	if seen != nil {
		seen[i] = true
	}
}
