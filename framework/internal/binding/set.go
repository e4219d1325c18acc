package binding

import (
	"reflect"
)

// Set compiles types with the same options, each once: components that take or return the
// same type have one plan. The zero value is ready. Not safe for concurrent use.
type Set struct {
	Options Options // not changed after the first Compile

	compiled map[compilation]compiled
}

// compilation is the key of a plan within a set.
type compilation struct {
	t     reflect.Type
	mode  Mode
	loose bool
}

type compiled struct {
	plan   *Plan
	faults []Fault
}

// Compile is [Compile] with the options of the set.
func (s *Set) Compile(t reflect.Type, mode Mode) (*Plan, []Fault) {
	return s.once(compilation{t: t, mode: mode})
}

// CompileLoose is Compile with AllowUnknown.
func (s *Set) CompileLoose(t reflect.Type, mode Mode) (*Plan, []Fault) {
	return s.once(compilation{t: t, mode: mode, loose: true})
}

func (s *Set) once(c compilation) (*Plan, []Fault) {
	if done, ok := s.compiled[c]; ok {
		return done.plan, done.faults
	}
	opts := s.Options
	opts.AllowUnknown = opts.AllowUnknown || c.loose
	plan, faults := Compile(c.t, c.mode, opts)
	if s.compiled == nil {
		s.compiled = make(map[compilation]compiled)
	}
	s.compiled[c] = compiled{plan, faults}
	return plan, faults
}
