package streamable

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// life is the context of a session or of an exchange. It behaves like context.WithCancelCause
// on its parent, but it does not register with the parent before somebody waits for its end.
// From then on a context of the standard library (real) does the work, so that derived
// contexts and context.Cause find the type that they expect.
type life struct {
	parent context.Context          //nolint:containedctx // it is a context itself
	real   atomic.Pointer[realLife] // nil: as the parent is; unnoticed: ended before it
	mu     sync.Mutex               // held while real is set
}

type realLife struct {
	context.Context //nolint:containedctx // a context itself
	cancel          context.CancelCauseFunc
}

// unnoticed is the real of a life that ended before its parent did and for which nobody has
// waited: most exchanges are over before anybody does.
var unnoticed = new(realLife)

// waited is real, for callers who wait for the end or derive from it.
func (l *life) waited() *realLife {
	if r := l.real.Load(); r != nil && r != unnoticed {
		return r
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.realize()
}

// realize makes real, if there is none. Under mu.
func (l *life) realize() *realLife {
	r := l.real.Load()
	if r != nil && r != unnoticed {
		return r
	}
	parent := l.parent
	if r == unnoticed { // what has happened to the parent since does not count
		parent = context.WithoutCancel(parent)
	}
	ctx, cancel := context.WithCancelCause(parent)
	if r == unnoticed {
		cancel(nil)
	}
	r = &realLife{Context: ctx, cancel: cancel}
	l.real.Store(r)
	return r
}

// end ends the context; only the first cause counts. The end of the parent ends it, too.
func (l *life) end(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cause == nil && l.real.Load() == nil && l.parent.Err() == nil {
		l.real.Store(unnoticed)
		return
	}
	l.realize().cancel(cause)
}

// Deadline is the parent's.
func (l *life) Deadline() (time.Time, bool) { return l.parent.Deadline() }

// Done is closed at the end.
func (l *life) Done() <-chan struct{} { return l.waited().Done() }

// Err says whether Done is closed.
func (l *life) Err() error {
	switch r := l.real.Load(); r {
	case nil:
		return l.parent.Err()
	case unnoticed:
		return context.Canceled
	default:
		return r.Err()
	}
}

// Value is the parent's. Once there is a real context, package context must find it by a key of
// its own.
func (l *life) Value(key any) any {
	if l.real.Load() == nil {
		return l.parent.Value(key)
	}
	return l.waited().Value(key)
}

// sessionLife is the life of a session. AfterFunc needs no real context: when the parent, the
// endpoint's, ends, end is called for all sessions, too.
type sessionLife struct {
	life
	after *after // guarded by mu
}

// after is a function to run after the end. Usually there is one: a list needs no slice.
type after struct {
	do   func()
	next *after
}

// end ends the context, and runs the functions of AfterFunc, each in a goroutine of its own.
func (l *sessionLife) end(cause error) {
	l.life.end(cause)
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
	if l.real.Load() != nil && l.Err() != nil {
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
