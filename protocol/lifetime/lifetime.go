// Package lifetime is a context for what is usually over before anybody waits for its end:
// a request, an HTTP exchange, a session.
package lifetime

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Context behaves like context.WithCancelCause on its parent, but it is part of its owner's
// memory, and it does not register with the parent before somebody waits for its end. From
// then on a context of the standard library (inner) does the work, so that derived contexts
// and context.Cause find the type that they expect.
//
// Begin comes before everything but End. The methods may be called by many goroutines at
// once. A Context must not be copied.
type Context struct {
	parent context.Context            //nolint:containedctx // it is a context itself; nil before Begin
	inner  atomic.Pointer[cancelable] // nil: as the parent is; unnoticed: ended before it
	mu     sync.Mutex                 // held while parent and inner are set
}

type cancelable struct {
	ctx    context.Context //nolint:containedctx // of a context; nil before Begin
	cancel context.CancelCauseFunc
	early  error // the cause of an End before Begin
}

// unnoticed is the inner of a context that ended without a cause, before its parent did, and
// for whose end nobody has waited.
var unnoticed = new(cancelable)

// Begin gives the context its parent, once. If End was called before, it has ended at once.
func (c *Context) Begin(parent context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parent = parent
	if inner := c.inner.Load(); inner != nil {
		c.inner.Store(nil)
		c.realize().cancel(inner.early)
	}
}

// End ends the context; only the first cause counts, and nil is context.Canceled. The end of
// the parent ends it, too.
func (c *Context) End(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	inner := c.inner.Load()
	switch {
	case c.parent == nil:
		if inner == nil {
			c.inner.Store(&cancelable{early: cause})
		}
	case cause == nil && inner == nil && c.parent.Err() == nil:
		c.inner.Store(unnoticed)
	default:
		c.realize().cancel(cause)
	}
}

// waited is inner, for callers who wait for the end or derive from it.
func (c *Context) waited() context.Context {
	if inner := c.inner.Load(); inner != nil && inner != unnoticed {
		return inner.ctx
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.realize().ctx
}

// realize makes inner, if there is none. Under mu.
func (c *Context) realize() *cancelable {
	inner := c.inner.Load()
	if inner != nil && inner != unnoticed {
		return inner
	}
	made := new(cancelable)
	if inner == unnoticed { // what has happened to the parent since does not count
		made.ctx, made.cancel = context.WithCancelCause(context.WithoutCancel(c.parent))
		made.cancel(nil)
	} else {
		made.ctx, made.cancel = context.WithCancelCause(c.parent)
	}
	c.inner.Store(made)
	return made
}

// Parent is what Begin was given.
func (c *Context) Parent() context.Context { return c.parent }

// Deadline is the parent's.
func (c *Context) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Done is closed at the end.
func (c *Context) Done() <-chan struct{} { return c.waited().Done() }

// Err says whether Done is closed.
func (c *Context) Err() error {
	switch inner := c.inner.Load(); inner {
	case nil:
		return c.parent.Err()
	case unnoticed:
		return context.Canceled
	default:
		return inner.ctx.Err()
	}
}

// Value is the parent's. Package context looks for an enclosing cancel context by a key of its
// own: once there is an inner one, that key must lead to it.
func (c *Context) Value(key any) any {
	if c.inner.Load() == nil {
		return c.parent.Value(key)
	}
	return c.waited().Value(key)
}
