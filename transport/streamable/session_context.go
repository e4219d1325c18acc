package streamable

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// life is the context of a session or of an exchange: what context.WithCancelCause would
// make of its parent, without the memory that it takes to be waited for. A context of the
// standard library is behind it once somebody waits, so that all that derives from it, and
// context.Cause, find what they know.
type life struct {
	parent context.Context //nolint:containedctx // it is a context itself
	real   atomic.Pointer[realLife]
	mu     sync.Mutex // guards the making of real
}

type realLife struct {
	context.Context //nolint:containedctx // a context itself
	cancel          context.CancelCauseFunc
}

// unnoticed is behind a life that ended while its parent had not, and for which nobody has
// waited: most exchanges are over before anybody does.
var unnoticed = new(realLife)

func (l *life) waited() *realLife {
	if r := l.real.Load(); r != nil && r != unnoticed {
		return r
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.realize()
}

// realize puts a context of the standard library behind this one. Under mu.
func (l *life) realize() *realLife {
	r := l.real.Load()
	if r != nil && r != unnoticed {
		return r
	}
	parent := l.parent
	if r == unnoticed { // nothing that befell the parent since counts
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

// Value is the parent's, or that of the context behind: package context looks for it.
func (l *life) Value(key any) any {
	if l.real.Load() == nil {
		return l.parent.Value(key)
	}
	return l.waited().Value(key)
}

// sessionLife is that of a session. What is to run after its end needs no context behind
// it, since its parent never ends without it.
type sessionLife struct {
	life
	after *after // guarded by mu
}

// after is what runs after the end, in a list: mostly there is one.
type after struct {
	do   func()
	next *after
}

// end is followed by what is to run after it.
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
