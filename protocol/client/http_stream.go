package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/kagami-mcp/kagami/protocol/client/internal/sse"
)

const (
	// defaultRetry is how long a client waits before it opens a stream again, if
	// the server does not say.
	defaultRetry = time.Second

	// minDelay and maxDelay bound the growth of that wait by failures, not what
	// the server says.
	minDelay = 100 * time.Millisecond
	maxDelay = 30 * time.Second

	// maxRefusal bounds for how long a server may keep a stream away by Retry-After, which may
	// be a date in the far future.
	maxRefusal = 24 * time.Hour

	// maxResumes is how often in a row a stream is resumed without a new event.
	maxResumes = 5

	// linger bounds how long a stream may go on after the answer. It is allowed to end by
	// itself, so that the connection can be reused.
	linger = time.Second

	// standing is how long the end of a handshake waits until the server has answered the
	// request for the stream of unsolicited messages. Before that, the server could send them
	// only on the streams of calls. It is short, because some servers answer only when they
	// have a first message.
	standing = 500 * time.Millisecond
)

// cursor is the position in a stream from which it can be resumed.
type cursor struct {
	id     string
	retry  time.Duration
	events int  // events with data or a new id so far
	opened bool // at least once

	answered func() // called at the server's answer to each attempt; may be nil
}

// delay returns how long to wait before the next attempt: at least as long as the server
// says, in the stream or with its last refusal (RFC 9110 section 10.2.3), longer after
// failures, and with jitter, so that not all clients come back at once.
func (s *cursor) delay(failures int, last error) time.Duration {
	d := s.retry
	for range failures {
		if d < maxDelay {
			d = min(max(2*d, minDelay), maxDelay)
		}
	}
	if refused, ok := errors.AsType[*HTTPError](last); ok {
		d = max(d, min(refused.RetryAfter, maxRefusal))
	}
	return d + rand.N(d/8+time.Millisecond)
}

// wait ends with ctx, or after the delay that follows the last error.
func (s *cursor) wait(ctx context.Context, failures int, last error) error {
	timer := time.NewTimer(s.delay(failures, last))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// events queues the messages of a stream until it ends. The error says how it ended; io.EOF is
// a clean end. Soon after the last answer to o, stop is called.
func (c *httpConn) events(ctx context.Context, stop context.CancelFunc, o *outgoing, s *cursor, body io.Reader) error {
	s.opened = true
	r := sse.NewReader(body, maxBody)
	r.Resume(s.id)
	waits := len(o.waiting) > 0
	for {
		event, err := r.Next()
		if retry, ok := r.Retry(); ok {
			s.retry = retry
		}
		if err != nil {
			return err
		}
		if len(event.Data) > 0 || event.ID != s.id {
			s.events++
		}
		if s.id = event.ID; strings.ContainsFunc(s.id, unicode.IsControl) {
			s.id = "" // it cannot be sent in a header
		}
		// An event without data only carries an id (2025-11-25 basic/transports); other types
		// belong to somebody else.
		if len(event.Data) == 0 || event.Type != "message" {
			continue
		}
		frame := oneLine(event.Data)
		if frame == nil {
			continue // as on stdio, the next one may be a message
		}
		if !c.deliver(ctx, o, frame) {
			return context.Canceled
		}
		if waits && len(o.waiting) == 0 {
			waits = false
			defer time.AfterFunc(linger, stop).Stop()
		}
	}
}

// follow takes an answer in a stream. A stream that ends early is resumed if the revision
// allows it and the events have ids. The call is never sent again, since it may have had an
// effect.
func (c *httpConn) follow(ctx context.Context, stop context.CancelFunc, o *outgoing, body io.Reader) error {
	s := &cursor{retry: defaultRetry}
	err := c.events(ctx, stop, o, s, body)
	for failures := 0; len(o.waiting) > 0; failures++ {
		if s.id == "" || !c.resumable(o) || errors.Is(err, sse.ErrTooLong) {
			return streamError(err)
		}
		if failures == maxResumes {
			return fmt.Errorf("resumed %d times in vain: %w", failures, streamError(err))
		}
		if waited := s.wait(ctx, failures, err); waited != nil {
			return waited
		}
		before := s.events
		if err = c.resume(ctx, o, s); s.events > before {
			failures = -1
		}
		if final(err) {
			return fmt.Errorf("%w; resuming it: %w", lostAnswer(nil), err)
		}
	}
	return nil
}

// streamError is lostAnswer, with the network as the cause if the stream did not end by itself.
func streamError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, sse.ErrTooLong) {
		return lostAnswer(err)
	}
	return &sendError{lostAnswer(err)}
}

// resumable looks at the agreed revision; before there is one, the frame belongs to a
// handshake.
func (c *httpConn) resumable(o *outgoing) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return o.version == "" && c.endpoint == nil && (c.agreed == nil || c.agreed.Resumable())
}

// resume reads what followed the last event.
func (c *httpConn) resume(ctx context.Context, o *outgoing, s *cursor) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	resp, err := c.get(ctx, s.id)
	if s.answered != nil {
		s.answered()
	}
	if err != nil {
		return err
	}
	defer discard(resp)
	return c.events(ctx, stop, o, s, resp.Body)
}

// get opens a stream. A status other than success is an *HTTPError.
func (c *httpConn) get(ctx context.Context, lastEvent string) (*http.Response, error) {
	req, err := c.request(ctx, http.MethodGet, nil)
	if err != nil {
		return nil, err
	}
	if lastEvent != "" {
		req.Header.Set(headerEventID, lastEvent)
	}
	resp, err := c.send(req)
	if err != nil {
		return nil, &sendError{err}
	}
	if accepted(resp) && isStream(resp) {
		return resp, nil
	}
	defer discard(resp)
	if accepted(resp) {
		return nil, &noStreamError{resp.Header.Get("Content-Type")}
	}
	return nil, newHTTPError(resp, readText(resp.Body))
}

// noStreamError is a success that is not a stream.
type noStreamError struct{ contentType string }

func (e *noStreamError) Error() string { return fmt.Sprintf("no event stream but %q", e.contentType) }

// final says that trying again is useless. Some client errors are temporary: servers answer 409
// until they have noticed that the last connection has ended.
func final(err error) bool {
	if _, none := errors.AsType[*noStreamError](err); none {
		return true
	}
	e, refused := errors.AsType[*HTTPError](err)
	if !refused {
		return false
	}
	switch e.Status {
	case http.StatusConflict, http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusTooEarly:
		return false
	}
	return e.Status < 500
}

// listen opens the stream of unsolicited messages (2025-11-25 basic/transports "Listening for
// Messages from the Server"), in place of that of an earlier session. It is not an error if
// the server has no such stream. listen returns when the server has answered, or after
// standing.
func (c *httpConn) listen(ctx context.Context) {
	c.mu.Lock()
	if c.listener != nil {
		c.listener()
	}
	life, stop := context.WithCancel(c.ctx)
	c.listener = stop
	session := c.session
	c.mu.Unlock()
	answered := make(chan struct{})
	if !c.spawn(func() {
		defer stop()
		c.unasked(life, session, sync.OnceFunc(func() { close(answered) }))
	}) {
		stop()
	}
	timer := time.NewTimer(standing)
	defer timer.Stop()
	select {
	case <-answered:
	case <-timer.C:
	case <-life.Done():
	case <-ctx.Done():
	}
}

// unasked is the goroutine that keeps the stream of unsolicited messages open. A server that had
// the stream and now answers 404 has dropped the session; before that, 404 only means that
// there is no such stream.
func (c *httpConn) unasked(ctx context.Context, session string, answered func()) {
	s := &cursor{retry: defaultRetry, answered: answered}
	for failures := 0; ; failures++ {
		before := s.events
		err := c.resume(ctx, &outgoing{}, s)
		refused, _ := errors.AsType[*HTTPError](err)
		if s.opened && session != "" && refused != nil && refused.Status == http.StatusNotFound {
			c.gone(session)
			return
		}
		if s.over(err) {
			return
		}
		if s.events > before {
			failures = 0
		}
		if s.wait(ctx, failures, err) != nil {
			return
		}
	}
}

// over reports whether to give up the stream of unsolicited messages for good. Two kinds of
// refusals are no reason to: after 401 and 403 the token may be about to change, and if the
// server refuses the position to resume from, the stream is opened without one, which loses
// the messages in between.
func (s *cursor) over(err error) bool {
	if !final(err) {
		return errors.Is(err, sse.ErrTooLong)
	}
	refused, ok := errors.AsType[*HTTPError](err)
	if !ok || refused.Status < http.StatusBadRequest {
		return true
	}
	if refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden {
		return false
	}
	resumed := s.id != ""
	s.id = ""
	return !resumed
}
