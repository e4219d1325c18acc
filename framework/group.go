package framework

// Group names its members "prefix_name". URIs and methods keep their names.
// Groups nest; an empty prefix names nothing and only carries options.
func Group(prefix string, components ...Component) *Set {
	return &Set{prefix: prefix, members: components, where: callerPlace(1)}
}

// Set is a group.
type Set struct {
	prefix  string
	members []Component
	opts    []Option
	where   string
}

func (*Set) component() {}

// With applies options to every member that they fit; a member's own option
// wins, With(Middleware) and Scopes add up. It changes the set and returns it.
func (s *Set) With(opts ...Option) *Set {
	s.opts = append(s.opts, opts...)
	return s
}
