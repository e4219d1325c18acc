package streamable

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// life is the context of a session: what context.WithCancelCause would make of its
// parent, without the memory that it takes to be waited for. A context of the standard
// library is behind it once somebody waits, so that all that derives from it, and
// context.Cause, find what they know.
type life struct {
	parent context.Context //nolint:containedctx // it is a context itself
	real   atomic.Pointer[realLife]

	mu    sync.Mutex // guards after, and the making of real
	after *after
}

type realLife struct {
	context.Context //nolint:containedctx // a context itself
	cancel          context.CancelCauseFunc
}

// after is what runs after the end, in a list: mostly there is one.
type after struct {
	do   func()
	next *after
}

func (l *life) waited() *realLife {
	if r := l.real.Load(); r != nil {
		return r
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.real.Load(); r != nil {
		return r
	}
	ctx, cancel := context.WithCancelCause(l.parent)
	r := &realLife{Context: ctx, cancel: cancel}
	l.real.Store(r)
	return r
}

// end ends the context; only the first cause counts. The end of the parent ends it, too,
// and is followed by end.
func (l *life) end(cause error) {
	l.waited().cancel(cause)
	l.mu.Lock()
	first := l.after
	l.after = nil
	l.mu.Unlock()
	for a := first; a != nil; a = a.next {
		go a.do()
	}
}

// AfterFunc is context.AfterFunc for this context.
func (l *life) AfterFunc(do func()) (stop func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.real.Load(); r != nil && r.Err() != nil {
		go do()
		return func() bool { return false }
	}
	a := &after{do: do, next: l.after}
	l.after = a
	return func() bool { return l.remove(a) }
}

// remove says whether a was still to run.
func (l *life) remove(a *after) bool {
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

// Deadline is the parent's.
func (l *life) Deadline() (time.Time, bool) { return l.parent.Deadline() }

// Done is closed when the session, or the endpoint, has ended.
func (l *life) Done() <-chan struct{} { return l.waited().Done() }

// Err says whether Done is closed.
func (l *life) Err() error { return l.behind().Err() }

// Value is the parent's, or that of the context behind: package context looks for it.
func (l *life) Value(key any) any { return l.behind().Value(key) }

func (l *life) behind() context.Context {
	if r := l.real.Load(); r != nil {
		return r
	}
	return l.parent
}
