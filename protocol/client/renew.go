package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// renewTime limits the creation of a new session, which several calls may wait for.
const renewTime = time.Minute

// renewals makes calls with an ended session share the creation of a new one. renewal sets current,
// under mu. Its goroutine sets err, resets current under mu, and then closes done.
//
// The goroutine of the renewal is started under mu, and the link is closed or open at that moment:
// either the goroutine runs and closes done, or renewal closes it. Callers wait for done without
// mu. The goroutine takes neither watchTable.turn nor mu while it talks to the server. Callers that
// wait for it may hold turn.
type renewals struct {
	mu      sync.Mutex // guards the fields below
	current *renewal
}

type renewal struct {
	done chan struct{} // closed after err is set
	err  error
}

// remedy finds out why a request over HTTP was refused, and removes the reason if it can. If the
// request can be sent once more, it returns nil. Otherwise it returns refused. If the remedy has failed,
// the error also wraps that failure.
func (c *Client) remedy(ctx context.Context, d *dialect.Dialect, method string, refused error) error {
	if c.http == nil {
		return refused
	}
	if status, ok := errors.AsType[*HTTPError](refused); ok && status.session != "" {
		if failed := c.renew(ctx, status.session); failed != nil {
			return fmt.Errorf("%w; %w", refused, failed)
		}
		return nil
	}
	fault, ok := errors.AsType[*protocol.Fault](refused)
	if !ok || fault.Kind != protocol.FaultHeaderMismatch || method != protocol.MethodCallTool || !d.MirrorHeaders() {
		return refused
	}
	// The tool may have changed since its declarations were read, or may never have been listed
	// (2026-07-28 basic/transports/streamable-http).
	for _, err := range c.Tools(ctx) {
		if err != nil {
			return fmt.Errorf("%w; listing the tools again: %w", refused, err)
		}
	}
	return nil
}

// renew replaces a dead session with a new one, unless it was already replaced (2025-11-25
// basic/transports "Session Management").
func (c *Client) renew(ctx context.Context, dead string) error {
	r := c.renewal(dead)
	if err := r.wait(ctx); err != nil || r == nil {
		return err
	}
	return r.err
}

// renewed waits for the renewal in progress, if there is one: some servers refuse calls before the
// handshake of the new session is over.
func (c *Client) renewed(ctx context.Context) error {
	c.renewals.mu.Lock()
	r := c.renewals.current
	c.renewals.mu.Unlock()
	return r.wait(ctx) // after a failed renewal, the call itself starts another one
}

// wait waits for the end of a renewal, which may be nil, and returns an error only if ctx ends first.
func (r *renewal) wait(ctx context.Context) error {
	if r == nil {
		return nil
	}
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return endOf(ctx)
	}
}

// renewal returns the renewal in progress, or starts one. If the dead session was already replaced,
// it returns nil.
//
// It does not block, and holds renewals.mu while it takes the locks of the workers and of the
// connection.
func (c *Client) renewal(dead string) *renewal {
	t := &c.renewals
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current != nil {
		return t.current
	}
	if c.http.sessionID() != dead {
		return nil
	}
	r := &renewal{done: make(chan struct{})}
	t.current = r
	if err := c.link.spawn(func() {
		ctx, cancel := context.WithTimeout(c.link.life, renewTime)
		defer cancel()
		if r.err = c.reinitialize(ctx); r.err != nil {
			c.http.setSession(dead) // so that the next call tries again
		}
		t.mu.Lock()
		t.current = nil
		t.mu.Unlock()
		close(r.done)
	}); err != nil {
		t.current, r.err = nil, err
		close(r.done)
	}
	return r
}

// renewLater starts a renewal while no call waits for one, and tries again while the server cannot be
// reached. The carrier calls it.
func (c *Client) renewLater(dead string) {
	_ = c.link.spawn(func() {
		pace := cursor{retry: defaultRetry}
		for failures := 0; ; failures++ {
			err := c.renew(c.link.life, dead)
			if err == nil || !c.passes(c.link.life, err) || pace.wait(c.link.life, failures, err) != nil {
				return // after a refusal the next call also fails, and returns the reason
			}
		}
	})
}

// reinitialize opens a session and restores the state of the old one. It offers the agreed
// revision, because calls in progress are encoded for it.
//
// Calls in progress go on. Those that name the old session fail, find the new session, and are sent
// again once.
func (c *Client) reinitialize(ctx context.Context) error {
	d := c.dialect.Load()
	raw, err := c.initialize(ctx, d)
	if err != nil {
		return fmt.Errorf("the session has ended, and opening a new one failed: %w", err)
	}
	if name := textAt(raw, "protocolVersion"); name != d.String() {
		return fmt.Errorf("the session has ended, and the server now speaks revision %q, want %s", name, d)
	}
	c.questions.reset() // the new session uses the ids again
	if err := c.notify(ctx, d, &protocol.InitializedParams{}); err != nil {
		return fmt.Errorf("the session has ended, and opening a new one failed: %w", err)
	}
	return c.restore(ctx, d)
}

// restore sets the log level and the subscriptions in the new session. If the server now refuses a
// subscription, only that subscription ends.
//
// It must not take watchTable.turn: a goroutine that holds it may be waiting for this renewal. A
// subscribe request that is refused with the old session is sent again by its own call.
func (c *Client) restore(ctx context.Context, d *dialect.Dialect) error {
	if level := c.level.Load(); level != nil && c.capabilities.Logging {
		if _, err := c.again(ctx, d, &protocol.SetLevelParams{Level: *level}); err != nil {
			return err
		}
	}
	for _, uri := range c.watched.uris() {
		refused, err := c.again(ctx, d, &protocol.SubscribeParams{URI: uri})
		if err != nil {
			return err
		}
		if refused {
			c.watched.each(uri, (*updates).end)
		} else {
			c.watched.each(uri, (*updates).missed)
		}
	}
	return nil
}

// again sends a request of a renewal. It does not start another renewal. refused is true if the
// server has answered with an error; err is then nil.
func (c *Client) again(ctx context.Context, d *dialect.Dialect, p protocol.Params) (refused bool, err error) {
	_, err = c.do(ctx, d, p, how{once: true})
	if _, refused := errors.AsType[*protocol.Error](err); refused {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("in the new session: %w", err)
	}
	return false, nil
}

// each calls fn for the watchers of exactly this URI. fn runs under t.mu, and may take the lock of
// the updates.
func (t *watchTable) each(uri string, fn func(*updates)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, u := range t.all {
		if u.uri == uri {
			fn(u)
		}
	}
}

// uris returns a sorted copy of the URIs that are subscribed to.
func (t *watchTable) uris() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.users))
}
