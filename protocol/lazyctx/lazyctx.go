// Package lazyctx provides a context that registers with its parent only when a goroutine waits for
// its end. Use it for work that usually ends before that: a request, an HTTP exchange, a session.
package lazyctx

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Context behaves like context.WithCancelCause on its parent, but it is part of its owner's memory.
// It registers with the parent only when a goroutine waits for its end or derives a context from
// it. After that a context of the standard library (inner) does the work, so that derived contexts
// and context.Cause find the type that they expect.
//
// Begin sets parent. End, Done and Value set inner at most once per state, with mu held; readers
// load it without mu. Call Begin before any other method except End and Ended. The methods may be called
// concurrently. A Context must not be copied.
type Context struct {
	parent context.Context            //nolint:containedctx // it is a context itself; nil before Begin
	values Values                     // nil: only the parent has values
	inner  atomic.Pointer[cancelable] // nil if not made, the parent decides; unnoticed if ended before the parent
	mu     sync.Mutex                 // held while parent or inner is set
}

// Values are values of a context in addition to the values of its parent. Value is called concurrently,
// and returns nil for keys that it does not know. Every context.Context is a Values.
type Values interface{ Value(key any) any }

type cancelable struct {
	ctx    context.Context //nolint:containedctx // it is a part of a context; nil before Begin
	cancel context.CancelCauseFunc
	early  error // the cause of an End before Begin
}

// unnoticed marks a context that ended without a cause, before its parent and before a goroutine
// waited for its end.
var unnoticed = new(cancelable)

// Begin sets the parent. It must be called once. If End was called before, the context ends
// at once. Value looks keys up in values first, and then in the parent; values may be nil.
func (c *Context) Begin(parent context.Context, values Values) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parent, c.values = parent, values
	if inner := c.inner.Load(); inner != nil {
		c.inner.Store(nil)
		c.realize().cancel(inner.early)
	}
}

// End ends the context with a cause; nil means context.Canceled. Only the first call has an effect.
// The end of the parent also ends the context.
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

// waited returns the inner context, and makes it if there is none. Callers wait for the end or
// derive a context.
func (c *Context) waited() context.Context {
	if inner := c.inner.Load(); inner != nil && inner != unnoticed {
		return inner.ctx
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.realize().ctx
}

// realize returns inner, and makes it if there is none. The caller holds mu.
func (c *Context) realize() *cancelable {
	inner := c.inner.Load()
	if inner != nil && inner != unnoticed {
		return inner
	}
	made := new(cancelable)
	if inner == unnoticed { // an end of the parent since then does not count
		made.ctx, made.cancel = context.WithCancelCause(context.WithoutCancel(c.parent))
		made.cancel(nil)
	} else {
		made.ctx, made.cancel = context.WithCancelCause(c.parent)
	}
	c.inner.Store(made)
	return made
}

// Parent returns the parent that Begin set, or nil before Begin.
func (c *Context) Parent() context.Context { return c.parent }

// Deadline returns the parent's deadline.
func (c *Context) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Done returns a channel that is closed when the context ends.
func (c *Context) Done() <-chan struct{} { return c.waited().Done() }

// Err returns nil until the context ends, and then context.Canceled or the error of the parent.
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

// Ended reports whether the context has ended. Unlike the other methods, it may be called before Begin.
func (c *Context) Ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.parent != nil && c.Err() != nil
}

// Value returns the value for key from the values given to Begin, or else from the parent. Once there
// is an inner context, the lookup in the parent goes through it, because package context finds the
// nearest cancelable ancestor with a private key.
func (c *Context) Value(key any) any {
	if c.values != nil {
		if value := c.values.Value(key); value != nil {
			return value
		}
	}
	if c.inner.Load() == nil {
		return c.parent.Value(key)
	}
	return c.waited().Value(key)
}
