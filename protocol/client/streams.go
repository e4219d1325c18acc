package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// stream is an open listen stream. It is in Client.streams, by the id of its request, from
// startStream until it ends, or until closeStream removes it. The reader fills acknowledged and
// closes ended; startStream and then the goroutine of keepStream receive from them.
//
// startStream adds the stream before it sends the request, so that the reader finds the stream at the
// first notification. The goroutine that removes the stream may close ended or cancel the request,
// because remove returns a stream only once.
type stream struct {
	waiter       *waiter                          // registered for the answer to its request
	acknowledged chan protocol.SubscriptionFilter // one, buffered
	ended        chan struct{}                    // closed when the server ends the stream
	updates      *updates                         // nil if notifications are only for OnNotification
}

// acknowledge passes the filter to startStream. The reader calls it; it does not block. s may be nil.
func (s *stream) acknowledge(filter protocol.SubscriptionFilter) {
	if s == nil {
		return
	}
	select {
	case s.acknowledged <- filter:
	default: // later acknowledgements have the same content
	}
}

// openStream opens a listen stream, and starts the goroutine that keeps it open.
//
// The goroutine owns the stream from then on. When it ends, it ends the updates and calls cancel, the
// function of ctx.
func (c *Client) openStream(ctx context.Context, cancel context.CancelFunc, d *dialect.Dialect, f protocol.SubscriptionFilter, u *updates) error {
	s, err := c.startStream(ctx, d, f, u)
	if err != nil {
		return err
	}
	return c.link.spawn(func() { c.keepStream(ctx, cancel, d, s, f, u) })
}

// startStream sends subscriptions/listen and waits for the acknowledgement.
//
// After an error, the stream is closed and its waiter removed. With a nil error the caller owns
// both.
func (c *Client) startStream(ctx context.Context, d *dialect.Dialect, f protocol.SubscriptionFilter, u *updates) (*stream, error) {
	id := c.link.nextID()
	frame, err := appendRequest(d, id, &protocol.ListenParams{Filter: f}, c.meta(d, len(f.Tasks) > 0))
	if err != nil {
		return nil, err
	}
	w, err := c.link.await(ctx, id, false)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", protocol.MethodListen, err)
	}
	s := &stream{waiter: w, acknowledged: make(chan protocol.SubscriptionFilter, 1), ended: make(chan struct{}), updates: u}
	c.streams.put(id.Key(), s)
	opening, done := c.link.dispatch.calling(ctx)
	defer done()
	if err = c.link.send(opening, frame); err == nil {
		err = c.acknowledged(opening, d, s, f)
	}
	if err != nil {
		c.closeStream(d, s)
		return nil, fmt.Errorf("%s: %w", protocol.MethodListen, err)
	}
	c.link.watches(w)
	return s, nil
}

// keepStream is the goroutine of a stream until the stream ends for good. Over HTTP, if the server
// or the network ends the stream, keepStream opens it again, as a new request (2026-07-28
// changelog, major change 9). The new stream does not repeat missed notifications.
func (c *Client) keepStream(
	ctx context.Context, cancel context.CancelFunc, d *dialect.Dialect, s *stream, f protocol.SubscriptionFilter, u *updates,
) {
	defer u.end()
	defer cancel() // the server may end the stream long before the caller's context ends
	defer context.AfterFunc(c.link.life, cancel)()
	pace := cursor{retry: defaultRetry}
	err := c.untilEnd(ctx, d, s)
	for failures := 0; c.http != nil && !unwanted(err); failures++ {
		if pace.wait(ctx, failures, err) != nil {
			return
		}
		if s, err = c.restartStream(ctx, d, f, u); err != nil {
			continue
		}
		began := time.Now()
		if err = c.untilEnd(ctx, d, s); time.Since(began) > defaultRetry {
			failures = -1 // the stream was open for a while, so this does not count as a failure
		}
	}
}

// untilEnd waits for the end of a stream and returns why it ended. If the server ended it properly,
// untilEnd returns nil.
func (c *Client) untilEnd(ctx context.Context, d *dialect.Dialect, s *stream) error {
	select {
	case <-ctx.Done():
		c.closeStream(d, s)
		return ctx.Err()
	case end := <-s.waiter.answer:
		c.streams.remove(s.waiter.id.Key())
		return endError(d, end)
	case <-s.ended:
		c.closeStream(d, s)
		return nil
	}
}

// restartStream opens the stream again. It limits the wait for the acknowledgement, because no
// caller does.
func (c *Client) restartStream(ctx context.Context, d *dialect.Dialect, f protocol.SubscriptionFilter, u *updates) (*stream, error) {
	ctx, cancel := context.WithTimeout(ctx, renewTime)
	defer cancel()
	s, err := c.startStream(ctx, d, f, u)
	if err == nil {
		u.missed()
	}
	return s, err
}

// acknowledged waits for the filter that the server grants, which is the first message of the
// stream (2026-07-28 basic/patterns/subscriptions).
func (c *Client) acknowledged(ctx context.Context, d *dialect.Dialect, s *stream, want protocol.SubscriptionFilter) error {
	select {
	case got := <-s.acknowledged:
		return honored(want, got)
	case got := <-s.waiter.answer:
		return c.endedEarly(d, s, got)
	case <-s.ended:
		return errors.New("the server cancelled the stream before acknowledging it")
	case <-ctx.Done():
		return endOf(ctx)
	}
}

// endedEarly handles a stream that ends before acknowledged has seen an acknowledgement. If the
// acknowledgement arrived just before the end, endedEarly returns nil and leaves the end to
// keepStream.
func (c *Client) endedEarly(d *dialect.Dialect, s *stream, end answer) error {
	select {
	case <-s.acknowledged:
		s.waiter.answer <- end
		return nil
	default:
	}
	c.streams.remove(s.waiter.id.Key()) // there is nothing to cancel any more
	if err := endError(d, end); err != nil {
		return err
	}
	return errors.New("the server ended the stream before acknowledging it")
}

// endError returns why a stream has ended, or nil if the server ended it properly.
func endError(d *dialect.Dialect, end answer) error {
	if end.err == nil && end.msg.Kind == jsonrpc.Failure {
		return refusal(d, end)
	}
	return end.err
}

// errUnheard is the error of an acknowledgement that grants nothing.
var errUnheard = errors.New("the server acknowledged none of the requested subscriptions")

// unwanted reports whether the server refuses a stream for good. An error about the token is not
// final, because the token may be about to change.
func unwanted(err error) bool {
	if status, ok := errors.AsType[*HTTPError](err); ok {
		return final(status) && status.Status != http.StatusUnauthorized
	}
	_, refused := errors.AsType[*protocol.Error](err)
	return refused || errors.Is(err, errUnheard)
}

// honored returns errUnheard if the server grants nothing of what was wanted.
func honored(want, got protocol.SubscriptionFilter) error {
	lists := want.Tools && got.Tools || want.Prompts && got.Prompts || want.Resources && got.Resources
	nothing := !want.Tools && !want.Prompts && !want.Resources && len(want.URIs) == 0 && len(want.Tasks) == 0
	if lists || nothing || shared(want.URIs, got.URIs) || shared(want.Tasks, got.Tasks) {
		return nil
	}
	return errUnheard
}

// shared reports whether the lists have an element in common.
func shared(want, got []string) bool {
	return slices.ContainsFunc(want, func(one string) bool { return slices.Contains(got, one) })
}

// closeStream removes a stream. If the stream was still open, it also cancels the request. If the
// server has cancelled it, the server may have left the response over HTTP open.
//
// It waits for the cancellation for at most courtesy.
func (c *Client) closeStream(d *dialect.Dialect, s *stream) {
	c.link.forget(s.waiter)
	if c.streams.remove(s.waiter.id.Key()) != nil && c.link.failure() == nil {
		c.cancelled(d, s.waiter.id)
	} else if c.http != nil {
		c.http.abandon(s.waiter.id)
	}
}
