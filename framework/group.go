package framework

import (
	"fmt"
	"slices"

	"github.com/kagami-mcp/kagami/framework/internal/callsite"
)

// Group returns a set of components whose tools and prompts get names of the form "prefix_name".
// URIs and methods keep their names. Groups may be nested. With an empty prefix, names stay the
// same, and the group only adds options.
func Group(prefix string, components ...Component) *Set {
	return &Set{prefix: prefix, members: slices.Clone(components), where: callsite.Caller(1), head: fmt.Sprintf("group %q", prefix)}
}

// A Set is a set of components, made by Group or Methods.
type Set struct {
	prefix  string
	members []Component
	opts    []Option
	where   string
	head    string  // its name in a report
	faults  []Fault // of Methods, which does not return an error
}

// fault records a fault of the set itself. Build reports it.
func (s *Set) fault(problem, fix string) {
	s.report(Fault{Where: s.where, Problem: problem, Fix: fix})
}

func (s *Set) report(f Fault) {
	f.Component = s.head
	s.faults = append(s.faults, f)
}

func (*Set) component() {}

// With applies options to every member that they fit. A member's own option takes precedence,
// except that With(Middleware) and Scopes accumulate. With changes the set and returns it.
func (s *Set) With(opts ...Option) *Set {
	s.opts = append(s.opts, opts...)
	return s
}
