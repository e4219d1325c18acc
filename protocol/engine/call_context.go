package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// lifetime is the context of one request. It is what context.WithCancelCause and
// WithValue would make of its parent, but in the memory of the exchange, and it costs
// the parent nothing as long as nobody waits for its end: most calls are over before
// anybody does. Then a context of the standard library is behind it, so that all that
// derives from it, and context.Cause, find what they know.
type lifetime struct {
	x      *exchange
	parent context.Context //nolint:containedctx // it is a context itself; nil before begin
	state  atomic.Uint32

	mu     sync.Mutex      // guards the fields below, which do not change any more once it is made
	inner  context.Context //nolint:containedctx // likewise
	cancel context.CancelCauseFunc
	cause  error // of end before begin
}

// The states of a lifetime.
const (
	quiet uint32 = iota // as its parent
	over                // it has ended, while the parent had not, and nobody has noticed
	made                // as inner
)

// begin gives the context its parent. One that was ended before is over from the start.
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
	default: // before us: why is the parent's to say
		l.realize()
	}
}

// waited is the context that ends.
func (l *lifetime) waited() context.Context {
	if l.state.Load() != made {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.realize()
	}
	return l.inner
}

// realize puts a context of the standard library behind this one. Callers hold mu.
func (l *lifetime) realize() {
	switch l.state.Load() {
	case quiet:
		l.inner, l.cancel = context.WithCancelCause(l.parent)
	case over: // nothing that befell the parent since counts
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

// Value knows the exchange, and its call where no frame-level chain is outside of it.
// The key of other packages may be the one by which package context looks for what is
// behind: once there may be an end, that is to be found.
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
