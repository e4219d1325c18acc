// Package safestore wraps the ports of a store, so that a panic in a port does not end the
// process: the operation returns an error instead. A server uses its store mostly in
// goroutines of its own, where the recovery around handlers does not apply.
//
// Each panic is reported once, with its stack. The error that the operation returns does not
// contain the stack.
//
// The context of an operation ends after 20 seconds. Many contexts of a server have no end, for example
// when it records an outcome. Without the limit, an answer could wait forever for a store that hangs.
// Take and Subscribe wait until their context ends.
//
// A wrapped port may be used concurrently only if the port may be used concurrently.
package safestore

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

// maxOperation is the maximum duration of an operation. A store may take several seconds to elect
// a new primary. A client waits a minute or longer for an answer.
const maxOperation = 20 * time.Second

// Reporter receives the panics of a port, each as an error with its stack (engine.PanicError). It
// also receives an error if a subscription has ended too early. It may be called concurrently.
type Reporter func(error)

// caught turns a panic of an operation, which defers it, into the operation's error.
func (report Reporter) caught(operation string, err *error) {
	if v := recover(); v != nil {
		report(fmt.Errorf("store: %s: %w", operation, &engine.PanicError{Value: v, Stack: debug.Stack()}))
		*err = fmt.Errorf("store: %s has panicked", operation)
	}
}

// Sessions wraps a session.Store. If s is a session.Exclusive, so is the result, with the
// opening that s has at the time of the call.
func Sessions(s session.Store, report Reporter) session.Store {
	safe := sessions{s, report}
	if x, ok := s.(session.Exclusive); ok {
		return exclusive{safe, x.Opening()}
	}
	return safe
}

type sessions struct {
	session.Store
	report Reporter
}

type exclusive struct {
	sessions
	opening string
}

func (e exclusive) Opening() string { return e.opening }

func (s sessions) Create(ctx context.Context, r session.Record) (err error) {
	defer s.report.caught("Sessions.Create", &err)
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	return s.Store.Create(ctx, r)
}

func (s sessions) Get(ctx context.Context, id string) (r session.Record, err error) {
	defer s.report.caught("Sessions.Get", &err)
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	return s.Store.Get(ctx, id)
}

func (s sessions) Update(ctx context.Context, r session.Record) (err error) {
	defer s.report.caught("Sessions.Update", &err)
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	return s.Store.Update(ctx, r)
}

func (s sessions) Touch(ctx context.Context, id string, expires time.Time) (err error) {
	defer s.report.caught("Sessions.Touch", &err)
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	return s.Store.Touch(ctx, id, expires)
}

func (s sessions) Delete(ctx context.Context, id string) (err error) {
	defer s.report.caught("Sessions.Delete", &err)
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	return s.Store.Delete(ctx, id)
}

// Events wraps an eventlog.Store.
func Events(s eventlog.Store, report Reporter) eventlog.Store { return events{s, report} }

type events struct {
	eventlog.Store
	report Reporter
}

func (e events) Append(ctx context.Context, stream string, frame []byte) (seq uint64, err error) {
	defer e.report.caught("Events.Append", &err)
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	return e.Store.Append(ctx, stream, frame)
}

func (e events) After(ctx context.Context, stream string, seq uint64) (after []eventlog.Event, err error) {
	defer e.report.caught("Events.After", &err)
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	return e.Store.After(ctx, stream, seq)
}

func (e events) Drop(ctx context.Context, stream string) (err error) {
	defer e.report.caught("Events.Drop", &err)
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	return e.Store.Drop(ctx, stream)
}

// Claims wraps a claim.Store.
func Claims(s claim.Store, report Reporter) claim.Store { return claims{s, report} }

type claims struct {
	claim.Store
	report Reporter
}

func (c claims) Claim(ctx context.Context, key string, value []byte, life time.Duration) (held []byte, mine bool, err error) {
	defer c.report.caught("Claims.Claim", &err)
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	return c.Store.Claim(ctx, key, value, life)
}

func (c claims) Swap(ctx context.Context, key string, old, value []byte, life time.Duration) (swapped bool, err error) {
	defer c.report.caught("Claims.Swap", &err)
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	return c.Store.Swap(ctx, key, old, value, life)
}

func (c claims) Get(ctx context.Context, key string) (value []byte, err error) {
	defer c.report.caught("Claims.Get", &err)
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	return c.Store.Get(ctx, key)
}

func (c claims) Delete(ctx context.Context, key string, old []byte) (err error) {
	defer c.report.caught("Claims.Delete", &err)
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	return c.Store.Delete(ctx, key, old)
}

func (c claims) Add(ctx context.Context, key string, n int64, life time.Duration) (sum int64, err error) {
	defer c.report.caught("Claims.Add", &err)
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	return c.Store.Add(ctx, key, n, life)
}

// Changes wraps a change.Bus.
func Changes(b change.Bus, report Reporter) change.Bus { return changes{b, report} }

type changes struct {
	change.Bus
	report Reporter
}

func (c changes) Publish(ctx context.Context, message []byte) (err error) {
	defer c.report.caught("Changes.Publish", &err)
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	return c.Bus.Publish(ctx, message)
}

// again is the pause before Subscribe makes another attempt.
const again = time.Second

// Subscribe subscribes again if the port panics, or returns before ctx has ended. Without that, the
// server would never again receive messages of other processes. Subscribe reports the same error only
// once, unless a subscription longer than maxOperation comes in between. Each subscription begins with a call
// of fn, so that the subscriber sees that it may have missed messages.
func (c changes) Subscribe(ctx context.Context, fn func(message []byte)) error {
	for last := ""; ; {
		begun := time.Now()
		returned, err := c.subscribe(ctx, fn)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if time.Since(begun) > maxOperation { // the bus may have worked in between
			last = ""
		}
		if text := fmt.Sprint(err); returned && text != last {
			c.report(fmt.Errorf("store: Changes.Subscribe returned before its context ended: %s", text))
			last = text
		}
		timer := time.NewTimer(again)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// subscribe reports whether the port's Subscribe returned. If it panicked, returned is false.
func (c changes) subscribe(ctx context.Context, fn func(message []byte)) (returned bool, err error) {
	defer c.report.caught("Changes.Subscribe", &err)
	err = c.Bus.Subscribe(ctx, fn)
	return true, err
}
