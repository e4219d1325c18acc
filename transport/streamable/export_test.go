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
	l.Begin(parent)
	return l, l.End
}
