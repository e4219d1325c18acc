package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// streamTable holds the open listen streams by the id of their request.
type streamTable struct {
	mu   sync.Mutex
	open map[string]*stream
}

type stream struct {
	acknowledged chan protocol.SubscriptionFilter // one, buffered
	ended        chan struct{}                    // closed when the server tears the stream down
	updates      *updates                         // nil: for OnNotification only
}

func (t *streamTable) add(id jsonrpc.ID, u *updates) *stream {
	s := &stream{acknowledged: make(chan protocol.SubscriptionFilter, 1), ended: make(chan struct{}), updates: u}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[string]*stream{}
	}
	t.open[id.Key()] = s
	return s
}

func (t *streamTable) remove(id jsonrpc.ID) *stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.open[id.Key()]
	delete(t.open, id.Key())
	return s
}

// end is the server's notifications/cancelled, by which it may end a stream
// (2026-07-28 basic/utilities/cancellation).
func (t *streamTable) end(id jsonrpc.ID) {
	if s := t.remove(id); s != nil {
		close(s.ended)
	}
}

func (t *streamTable) find(id jsonrpc.ID) *stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[id.Key()]
}

func (t *streamTable) acknowledge(id jsonrpc.ID, filter protocol.SubscriptionFilter) {
	if s := t.find(id); s != nil {
		select {
		case s.acknowledged <- filter:
		default: // a second acknowledgement says nothing new
		}
	}
}

// openStream sends subscriptions/listen, waits for the acknowledgement and keeps
// the stream in a goroutine until ctx or the stream ends.
func (c *Client) openStream(ctx context.Context, d *dialect.Dialect, f protocol.SubscriptionFilter, u *updates) error {
	id := c.link.nextID()
	frame, err := appendRequest(d, id, &protocol.ListenParams{Filter: f}, c.meta(d, len(f.Tasks) > 0))
	if err != nil {
		return err
	}
	w, err := c.link.await(id, false)
	if err != nil {
		return fmt.Errorf("%s: %w", protocol.MethodListen, err)
	}
	s := c.streams.add(id, u)
	opening, done := c.link.dispatch.calling(ctx)
	err = c.link.send(opening, frame)
	if err == nil {
		err = c.acknowledged(opening, d, s, w, f)
	}
	done()
	if err != nil {
		c.closeStream(d, w)
		return fmt.Errorf("%s: %w", protocol.MethodListen, err)
	}
	kept := c.link.spawn(func() {
		select {
		case <-ctx.Done():
			c.closeStream(d, w)
		case <-w.answer:
			c.streams.remove(id)
		case <-s.ended:
			c.link.forget(w)
		}
		u.end()
	})
	if !kept {
		return ErrClosed
	}
	return nil
}

// acknowledged waits until the server says what it will honour, which is the
// first message of the stream (2026-07-28 basic/patterns/subscriptions).
func (c *Client) acknowledged(ctx context.Context, d *dialect.Dialect, s *stream, w *waiter, want protocol.SubscriptionFilter) error {
	select {
	case got := <-s.acknowledged:
		return honoured(want, got)
	case got := <-w.answer:
		return c.endedEarly(d, s, w, got)
	case <-s.ended:
		return errors.New("the server cancelled the stream before acknowledging it")
	case <-ctx.Done():
		return endOf(ctx)
	}
}

// endedEarly looks at the end of a stream that may have been acknowledged just
// before; then the end is for the stream's keeper.
func (c *Client) endedEarly(d *dialect.Dialect, s *stream, w *waiter, end answer) error {
	select {
	case <-s.acknowledged:
		w.answer <- end
		return nil
	default:
	}
	c.streams.remove(w.id) // nothing is left to be cancelled
	if end.err != nil {
		return end.err
	}
	if end.msg.Kind == jsonrpc.Failure {
		return refusal(d, end)
	}
	return errors.New("the server ended the stream before acknowledging it")
}

func honoured(want, got protocol.SubscriptionFilter) error {
	lists := want.Tools && got.Tools || want.Prompts && got.Prompts || want.Resources && got.Resources
	uris := slices.ContainsFunc(want.URIs, func(uri string) bool { return slices.Contains(got.URIs, uri) })
	nothing := !want.Tools && !want.Prompts && !want.Resources && len(want.URIs) == 0
	if lists || uris || nothing || len(got.Tasks) > 0 {
		return nil
	}
	return errors.New("the server announces nothing of what was asked for")
}

// closeStream forgets a stream and tells the server, if the stream was still open.
func (c *Client) closeStream(d *dialect.Dialect, w *waiter) {
	c.link.forget(w)
	if c.streams.remove(w.id) != nil && c.link.failure() == nil {
		c.cancelled(d, w.id, false)
	}
}
