package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/kagami-mcp/kagami/protocol/client/internal/sse"
)

const (
	// defaultRetry is how long the client waits before it opens a stream again, if the server does
	// not set a time.
	defaultRetry = time.Second

	// minDelay and maxDelay limit the growth of that time after failures. They do not limit a time
	// set by the server.
	minDelay = 100 * time.Millisecond
	maxDelay = 30 * time.Second

	// maxRefusal limits how long a Retry-After of the server delays a stream, because it may be a
	// date in the far future.
	maxRefusal = 24 * time.Hour

	// maxResumes limits how often in a row a stream is resumed to no use; see cursor.useful.
	maxResumes = 5

	// linger limits how long a stream may go on after the answer. If the stream ends by itself, the
	// connection can be reused.
	linger = time.Second

	// standing limits how long the end of a handshake waits for the answer to the request for the
	// stream of unsolicited messages. Until then, the server could send them only on the streams of
	// calls. The limit is short, because some servers answer only when they have a first message.
	standing = 500 * time.Millisecond
)

// cursor is a position in a stream. The stream can be resumed from there.
//
// One goroutine at a time owns a cursor. It is not reset when a stream is opened again.
type cursor struct {
	id     string
	retry  time.Duration
	events int  // number of events with data or a new id so far
	opened bool // the stream was opened at least once

	answered func() // called when the server has answered an attempt; may be nil
}

// wait waits before the next attempt. If ctx ends first, it returns an error. The delay is at least
// the one that the server has set, in the stream or with its last refusal (RFC 9110 section 10.2.3).
// It grows after failures, and has jitter, so that clients do not all come back at the same time.
func (s *cursor) wait(ctx context.Context, failures int, last error) error {
	d := s.retry
	for range failures {
		if d < maxDelay {
			d = min(max(2*d, minDelay), maxDelay)
		}
	}
	if refused, ok := errors.AsType[*HTTPError](last); ok {
		d = max(d, min(refused.RetryAfter, maxRefusal))
	}
	waitFor(ctx, nil, d+rand.N(d/8+time.Millisecond))
	return ctx.Err()
}

// events queues the messages of a stream until the stream ends, and returns how it ended; io.EOF is
// a clean end. Shortly after the last answer to o, it calls stop.
//
// The timer that calls stop is stopped when events returns. The caller closes body.
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
			s.id = "" // a header field cannot contain it
		}
		// An event without data only has an id (2025-11-25 basic/transports). Other types of events
		// are not MCP messages.
		if len(event.Data) == 0 || event.Type != "message" {
			continue
		}
		if !c.message(ctx, o, event.Data) {
			return context.Canceled
		}
		if waits && len(o.waiting) == 0 {
			waits = false
			defer time.AfterFunc(linger, stop).Stop()
		}
	}
}

// message queues the message of an event. It returns false if the message could not be queued.
func (c *httpConn) message(ctx context.Context, o *outgoing, text []byte) bool {
	if frame := oneLine(text); frame != nil {
		return c.deliver(ctx, o, frame)
	}
	return c.garbled(ctx, o, text)
}

// follow reads the answer from a stream. If the stream ends early, follow resumes it, provided that
// the revision allows this and the events have ids. It never sends the call again, because the call
// may have had an effect.
//
// It runs in the goroutine of the POST. With a nil error, o.waiting is empty.
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
		before, began := s.events, time.Now()
		if err = c.resume(ctx, o, s); s.useful(before, began, err) {
			failures = -1
		}
		if final(err) {
			return fmt.Errorf("%w; resuming it: %w", lostAnswer(nil), err)
		}
	}
	return nil
}

// streamError is like lostAnswer. If the stream did not end by itself, the error is also a
// sendError.
func streamError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, sse.ErrTooLong) {
		return lostAnswer(err)
	}
	return &sendError{lostAnswer(err)}
}

// resumable reports whether the stream of o may be resumed. It depends on the agreed revision;
// before there is one, the frame belongs to a handshake.
func (c *httpConn) resumable(o *outgoing) bool {
	agreed := c.agreed.Load()
	return o.version == "" && !c.oldBinding() && (agreed == nil || agreed.Resumable())
}

// resume opens a stream after the last event and reads it until it ends.
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

// get opens a stream. If the status is not a success, it returns an *HTTPError.
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
		return nil, &noStreamError{kindOf(resp)}
	}
	return nil, newHTTPError(resp, readText(resp.Body))
}

// noStreamError is the error of a successful response that is not a stream.
type noStreamError struct{ kind string }

// Error describes the body of the response.
func (e *noStreamError) Error() string { return fmt.Sprintf("no event stream but %q", e.kind) }

// final reports whether another attempt is useless. Some client errors are temporary: servers
// answer 409 until they have noticed that the last connection has ended.
func final(err error) bool {
	if _, none := errors.AsType[*noStreamError](err); none {
		return true
	}
	e, refused := errors.AsType[*HTTPError](err)
	temporary := []int{http.StatusConflict, http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusTooEarly}
	return refused && e.Status < 500 && !slices.Contains(temporary, e.Status)
}

// listen opens the stream of unsolicited messages (2025-11-25 basic/transports "Listening for
// Messages from the Server"). It ends the stream of an earlier session. A server without such a
// stream is not an error. listen returns when the server has answered, or after standing.
//
// Only the goroutine that sends notifications/initialized calls it: of Connect, or of a renewal.
// The goroutine that it starts owns its cursor, and ends with the connection, or when the next
// listen replaces it. answered is called at most once and by that goroutine; it lets listen return.
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
	_ = c.spawn(func() {
		defer stop()
		c.unasked(life, session, sync.OnceFunc(func() { close(answered) }))
	})
	waitFor(ctx, answered, standing) // after Close, ctx has ended
}

// unasked is the goroutine that keeps the stream of unsolicited messages open. If the stream was
// open before, a 404 means that the server has dropped the session (see endsSession). Otherwise a 404
// means that the server has no such stream; 400 is like 404 here.
func (c *httpConn) unasked(ctx context.Context, session string, answered func()) {
	s := &cursor{retry: defaultRetry, answered: answered}
	for failures := 0; ; failures++ {
		before, began := s.events, time.Now()
		err := c.resume(ctx, &outgoing{}, s)
		refused, _ := errors.AsType[*HTTPError](err)
		if s.opened && session != "" && refused != nil && refused.endsSession() {
			c.gone(session)
			return
		}
		if s.over(err) {
			return
		}
		if s.useful(before, began, err) {
			failures = 0
		}
		if s.wait(ctx, failures, err) != nil {
			return
		}
	}
}

// useful reports whether the attempt to resume that has ended with err was not a failure: it had a
// new event, or the stream was open for a while. Proxies cut a stream that is quiet.
func (s *cursor) useful(before int, began time.Time, err error) bool {
	_, refused := errors.AsType[*HTTPError](err)
	_, unsent := errors.AsType[*sendError](err)
	return s.events > before || !refused && !unsent && time.Since(began) > defaultRetry
}

// over reports whether to give up the stream of unsolicited messages for good. Two kinds of
// refusals are not final. After 401 and 403, the token may be about to change. If the server
// refuses the position to resume from, over clears the position, and the next attempt loses the
// messages in between.
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
