package framework

import (
	"slices"

	"github.com/kagami-mcp/kagami/framework/internal/callsite"
	"github.com/kagami-mcp/kagami/framework/internal/catalog"
)

// Add adds components at run time, in this process only. Clients are notified with list_changed. If
// there are faults, Add returns a *BuildError and does not add anything. The zero Server returns
// another error.
func (s *Server) Add(components ...Component) error {
	return s.change(nil, components, callsite.Caller(1), "Nothing was added.")
}

// AddOrReplace adds components and replaces registered ones that have the same name or URI. Use
// it to mirror components from another source. Like Replace, it takes effect as one change; it
// returns the same errors as Add. Clients are notified only of lists that show a difference.
func (s *Server) AddOrReplace(components ...Component) error {
	at := callsite.Caller(1)
	return s.commit("Nothing was added or replaced.", func() *builder { return newBuilder(s, nil, nil).replacing().with(components, at) })
}

// Replace removes and adds components in one step: one new snapshot and one list_changed. If it
// returns an error, nothing has changed; the errors are the same as for Add. A new component takes
// the list position of an old one with the same name. Replace ignores old components that the
// server does not have.
func (s *Server) Replace(old, replacement []Component) error {
	return s.change(old, replacement, callsite.Caller(1), "Nothing was replaced.")
}

// Remove removes components at run time. Pass the values that were added. Remove ignores components
// that the server does not have.
func (s *Server) Remove(components ...Component) {
	if s == nil || s.engine == nil {
		return
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	s.drop(s.entriesOf(components))
}

// RemoveTools removes tools by their listed names. It returns how many it has removed.
func (s *Server) RemoveTools(names ...string) int { return s.removeNamed(names, catalog.Tool) }

// RemovePrompts removes prompts by their listed names. It returns how many it has removed.
func (s *Server) RemovePrompts(names ...string) int { return s.removeNamed(names, catalog.Prompt) }

// RemoveResources removes resources and templates by URI or URI template. It returns how many it
// has removed.
func (s *Server) RemoveResources(uris ...string) int {
	return s.removeNamed(uris, catalog.Resource, catalog.Template)
}

func (s *Server) change(old, components []Component, at, outcome string) error {
	return s.commit(outcome, func() *builder { return newBuilder(s, s.entriesOf(old), nil).with(components, at) })
}

// commit publishes the components that build collects, and notifies the clients. It holds
// s.changing, so the components of the server do not change while build runs.
func (s *Server) commit(outcome string, build func() *builder) error {
	if s == nil || s.engine == nil {
		return errNotBuilt
	}
	var warnings []Fault
	defer func() { s.warn(warnings) }() // without the lock, because the logger may call the server
	s.changing.Lock()
	defer s.changing.Unlock()
	b := build()
	change, err := b.commit(outcome)
	if err != nil {
		return err
	}
	if len(change.Kinds) > 0 || change.Removed == 0 { // else lists do not change, and warnings were logged before
		warnings = b.faults
	}
	s.announce(change)
	return nil
}

func (s *Server) removeNamed(keys []string, kinds ...catalog.Kind) int {
	if s == nil || s.engine == nil {
		return 0
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	var gone []*catalog.Entry
	for _, key := range keys {
		for _, k := range kinds {
			if e := s.registry.Lookup(k, key); e != nil {
				gone = append(gone, e)
			}
		}
	}
	return s.drop(gone)
}

// drop removes entries, and returns how many it has removed. The caller holds s.changing.
func (s *Server) drop(entries []*catalog.Entry) int {
	if len(entries) == 0 {
		return 0
	}
	change := s.registry.Update(entries, nil)
	s.announce(change)
	return change.Removed
}

func (s *Server) announce(change catalog.Change) {
	if len(change.Kinds) > 0 {
		s.engine.Changed(change.Kinds...)
	}
}

// entriesOf returns the catalog entries that this server has for the components.
func (s *Server) entriesOf(components []Component) []*catalog.Entry {
	if len(components) == 0 {
		return nil
	}
	wanted := make(map[*declaration]bool)
	collect(components, wanted)
	return slices.DeleteFunc(slices.Clone(s.registry.Entries()), func(e *catalog.Entry) bool {
		return !wanted[e.Handler.(*componentHandler).declared]
	})
}

func collect(components []Component, into map[*declaration]bool) {
	for _, c := range components {
		switch c := c.(type) {
		case *Set:
			if c != nil {
				collect(c.members, into)
			}
		case leaf:
			if d := c.declared(); d != nil {
				into[d] = true
			}
		}
	}
}
