package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// lifetime is the context of one request. It behaves like context.WithCancelCause and
// WithValue on its parent, but it is part of the exchange's memory, and it does not
// register with the parent before somebody waits for its end: most calls are over before
// anybody does. From then on a context of the standard library (inner) does the work, so
// that derived contexts and context.Cause find the type that they expect.
type lifetime struct {
	x      *exchange
	parent context.Context //nolint:containedctx // it is a context itself; nil before begin
	state  atomic.Uint32

	mu     sync.Mutex      // guards the fields below; inner and cancel do not change once state is made
	inner  context.Context //nolint:containedctx // it is a context itself
	cancel context.CancelCauseFunc
	cause  error // of end before begin
}

// The states of a lifetime.
const (
	quiet uint32 = iota // it has not ended by itself: it is as its parent is
	over                // it ended before its parent did, and nobody has waited for it
	made                // there is an inner context, which decides
)

// begin gives the context its parent. If end was called before, it has ended at once.
func (l *lifetime) begin(parent context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.parent = parent
	if l.cause != nil {
		l.realize()
		l.cancel(l.cause)
	}
}

// end ends the context; only the first cause counts.
func (l *lifetime) end(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.parent == nil {
		if l.cause == nil {
			l.cause = cause
		}
		return
	}
	l.realize()
	l.cancel(cause)
}

// done ends the context when the call is over.
func (l *lifetime) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.state.Load() == made:
		l.cancel(nil)
	case l.parent.Err() == nil:
		l.state.Store(over)
	default: // the parent has ended first: its cause is the cause
		l.realize()
	}
}

// waited is the inner context, for callers who wait for the end or derive from it.
func (l *lifetime) waited() context.Context {
	if l.state.Load() != made {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.realize()
	}
	return l.inner
}

// realize makes the inner context, if there is none. Callers hold mu.
func (l *lifetime) realize() {
	switch l.state.Load() {
	case quiet:
		l.inner, l.cancel = context.WithCancelCause(l.parent)
	case over: // before the parent: what has happened to that since does not count
		l.inner, l.cancel = context.WithCancelCause(context.WithoutCancel(l.parent))
		l.cancel(nil)
	}
	l.state.Store(made)
}

// Deadline is the parent's.
func (l *lifetime) Deadline() (time.Time, bool) { return l.parent.Deadline() }

// Done is closed when the client cancels, the carrier ends, or the call is over.
func (l *lifetime) Done() <-chan struct{} { return l.waited().Done() }

// Err says whether Done is closed.
func (l *lifetime) Err() error {
	switch l.state.Load() {
	case quiet:
		return l.parent.Err()
	case over:
		return context.Canceled
	}
	return l.inner.Err()
}

// Value is the exchange, its call where there is no frame middleware (which must not see
// it), or what the contexts behind have. Package context finds an enclosing cancel context
// by a key of its own: once this context has an inner one, that key must lead to it.
func (l *lifetime) Value(key any) any {
	switch key.(type) {
	case exchangeKey:
		return l.x
	case callKey:
		if len(l.x.conn.e.cfg.Frames) == 0 {
			return l.x.call
		}
	}
	if l.state.Load() == quiet {
		return l.parent.Value(key)
	}
	return l.waited().Value(key)
}
