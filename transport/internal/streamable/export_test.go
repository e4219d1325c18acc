package streamable

import "context"

// Life is the context of a session.
type Life interface {
	context.Context
	AfterFunc(do func()) (stop func() bool)
}

// NewLife makes one without a session.
func NewLife(parent context.Context) (ctx Life, end func(cause error)) {
	l := new(sessionLife)
	l.Begin(parent, nil)
	return l, l.End
}

// Sessions returns how many sessions the endpoint keeps.
func Sessions(e *Endpoint) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.sessions)
}
