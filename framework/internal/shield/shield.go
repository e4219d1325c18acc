// Package shield stands between a server and the ports of a store: a panic in a port costs
// the operation, which returns an error instead, and not the process. Much of what a server
// does with a store it does in goroutines of its own, where no handler's recovery reaches.
//
// What is told is the panic with its stack, once; what the operation returns has no stack.
// A shielded port is as safe for concurrent use as the port itself.
package shield

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
)

// Tell takes what went wrong in a port. It may be called concurrently.
type Tell func(error)

// caught is deferred by an operation, and turns its panic into its error.
func (tell Tell) caught(operation string, err *error) {
	if v := recover(); v != nil {
		tell(fmt.Errorf("store: %s: %w", operation, &engine.PanicError{Value: v, Stack: debug.Stack()}))
		*err = fmt.Errorf("store: %s has panicked", operation)
	}
}

// Sessions shields a session.Store. The result is a session.Exclusive if s is, with the opening
// that s has now.
func Sessions(s session.Store, tell Tell) session.Store {
	shielded := sessions{s, tell}
	if x, ok := s.(session.Exclusive); ok {
		return exclusive{shielded, x.Opening()}
	}
	return shielded
}

type sessions struct {
	session.Store
	tell Tell
}

type exclusive struct {
	sessions
	opening string
}

func (e exclusive) Opening() string { return e.opening }

func (s sessions) Create(ctx context.Context, r session.Record) (err error) {
	defer s.tell.caught("Sessions.Create", &err)
	return s.Store.Create(ctx, r)
}

func (s sessions) Get(ctx context.Context, id string) (r session.Record, err error) {
	defer s.tell.caught("Sessions.Get", &err)
	return s.Store.Get(ctx, id)
}

func (s sessions) Update(ctx context.Context, r session.Record) (err error) {
	defer s.tell.caught("Sessions.Update", &err)
	return s.Store.Update(ctx, r)
}

func (s sessions) Touch(ctx context.Context, id string, expires time.Time) (err error) {
	defer s.tell.caught("Sessions.Touch", &err)
	return s.Store.Touch(ctx, id, expires)
}

func (s sessions) Delete(ctx context.Context, id string) (err error) {
	defer s.tell.caught("Sessions.Delete", &err)
	return s.Store.Delete(ctx, id)
}

// Events shields an eventlog.Store.
func Events(s eventlog.Store, tell Tell) eventlog.Store { return events{s, tell} }

type events struct {
	eventlog.Store
	tell Tell
}

func (e events) Append(ctx context.Context, stream string, frame []byte) (seq uint64, err error) {
	defer e.tell.caught("Events.Append", &err)
	return e.Store.Append(ctx, stream, frame)
}

func (e events) After(ctx context.Context, stream string, seq uint64) (after []eventlog.Event, err error) {
	defer e.tell.caught("Events.After", &err)
	return e.Store.After(ctx, stream, seq)
}

func (e events) Drop(ctx context.Context, stream string) (err error) {
	defer e.tell.caught("Events.Drop", &err)
	return e.Store.Drop(ctx, stream)
}

// Claims shields a claim.Store.
func Claims(s claim.Store, tell Tell) claim.Store { return claims{s, tell} }

type claims struct {
	claim.Store
	tell Tell
}

func (c claims) Claim(ctx context.Context, key string, value []byte, life time.Duration) (held []byte, mine bool, err error) {
	defer c.tell.caught("Claims.Claim", &err)
	return c.Store.Claim(ctx, key, value, life)
}

func (c claims) Swap(ctx context.Context, key string, old, value []byte, life time.Duration) (swapped bool, err error) {
	defer c.tell.caught("Claims.Swap", &err)
	return c.Store.Swap(ctx, key, old, value, life)
}

func (c claims) Get(ctx context.Context, key string) (value []byte, err error) {
	defer c.tell.caught("Claims.Get", &err)
	return c.Store.Get(ctx, key)
}

func (c claims) Delete(ctx context.Context, key string, old []byte) (err error) {
	defer c.tell.caught("Claims.Delete", &err)
	return c.Store.Delete(ctx, key, old)
}

func (c claims) Add(ctx context.Context, key string, n int64, life time.Duration) (sum int64, err error) {
	defer c.tell.caught("Claims.Add", &err)
	return c.Store.Add(ctx, key, n, life)
}

// Changes shields a change.Bus.
func Changes(b change.Bus, tell Tell) change.Bus { return changes{b, tell} }

type changes struct {
	change.Bus
	tell Tell
}

func (c changes) Publish(ctx context.Context, message []byte) (err error) {
	defer c.tell.caught("Changes.Publish", &err)
	return c.Bus.Publish(ctx, message)
}

// again is the pause before a subscription that ended too early is made anew.
const again = time.Second

// Subscribe subscribes again after a panic: it would miss what other processes say for the
// rest of the server's life. The subscriber learns of what it missed by the first call of
// each subscription.
func (c changes) Subscribe(ctx context.Context, fn func(message []byte)) error {
	for {
		returned, err := c.subscribe(ctx, fn)
		if returned {
			return err
		}
		if wait(ctx, again) != nil {
			return context.Cause(ctx)
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// subscribe says whether the port's Subscribe returned, rather than panicked.
func (c changes) subscribe(ctx context.Context, fn func(message []byte)) (returned bool, err error) {
	defer c.tell.caught("Changes.Subscribe", &err)
	err = c.Bus.Subscribe(ctx, fn)
	return true, err
}
