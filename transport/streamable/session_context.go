package streamable

import (
	"sync"

	"github.com/kagami-mcp/kagami/protocol/lifetime"
)

// sessionLife is the context of a session. AfterFunc does not wait for it: when the parent, the
// endpoint's, ends, End is called for all sessions, too.
type sessionLife struct {
	lifetime.Context

	mu    sync.Mutex // guards after
	after *after
}

// after is a function to run after the end. Usually there is one: a list needs no slice.
type after struct {
	do   func()
	next *after
}

// End ends the context, and runs the functions of AfterFunc, each in a goroutine of its own.
func (l *sessionLife) End(cause error) {
	l.Context.End(cause)
	l.mu.Lock()
	first := l.after
	l.after = nil
	l.mu.Unlock()
	for a := first; a != nil; a = a.next {
		go a.do()
	}
}

// AfterFunc is context.AfterFunc for this context.
func (l *sessionLife) AfterFunc(do func()) (stop func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Err() != nil {
		go do()
		return func() bool { return false }
	}
	a := &after{do: do, next: l.after}
	l.after = a
	return func() bool { return l.remove(a) }
}

// remove says whether a was still to run.
func (l *sessionLife) remove(a *after) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at := &l.after; *at != nil; at = &(*at).next {
		if *at == a {
			*at = a.next
			return true
		}
	}
	return false
}
