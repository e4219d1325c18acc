package streamable

import (
	"sync"

	"github.com/kagami-mcp/kagami/protocol/lazyctx"
)

// sessionLife is the context of a session. AfterFunc registers a function here instead of waiting
// for Done, which would cost a goroutine or an inner context. That is enough, because the endpoint
// calls End for all sessions when the parent, the endpoint's context, ends.
//
// mu is taken after the context has ended or while it has not, so no function is lost: AfterFunc
// sees the end, or End sees the function. mu is held only for the list.
type sessionLife struct {
	lazyctx.Context

	mu    sync.Mutex // guards after
	after *after
}

// after is a linked list of functions to run after the end; usually there is one.
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

// AfterFunc is like context.AfterFunc for this context.
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

// remove removes a from the list. It returns false if a has run or was removed before.
//
// It is the stop function that AfterFunc returns.
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
