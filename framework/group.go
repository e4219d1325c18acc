package framework

import (
	"fmt"
	"slices"

	"github.com/kagami-mcp/kagami/framework/internal/callsite"
)

// Group names its members "prefix_name". URIs and methods keep their names. Groups nest;
// with an empty prefix names stay as they are, and the group only carries options.
func Group(prefix string, components ...Component) *Set {
	return &Set{prefix: prefix, members: slices.Clone(components), where: callsite.Caller(1), head: fmt.Sprintf("group %q", prefix)}
}

// Set is a group.
type Set struct {
	prefix  string
	members []Component
	opts    []Option
	where   string
	head    string  // its name in a report
	faults  []Fault // of Methods, which returns no error
}

// fault notes a fault of the set itself.
func (s *Set) fault(problem, fix string) {
	s.report(Fault{Where: s.where, Problem: problem, Fix: fix})
}

func (s *Set) report(f Fault) {
	f.Component = s.head
	s.faults = append(s.faults, f)
}

func (*Set) component() {}

// With applies options to every member they fit; a member's own option wins, except that
// With(Middleware) and Scopes add up. It changes the set and returns it.
func (s *Set) With(opts ...Option) *Set {
	s.opts = append(s.opts, opts...)
	return s
}
