package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// Client is one logical connection to a server. It is safe for concurrent use.
type Client struct {
	config  config
	can     protocol.ClientCapabilities
	link    *link
	http    *httpConn                       // nil on other transports
	dialect atomic.Pointer[dialect.Dialect] // nil until initialize offers a revision, or the client and the server agree on one
	level   atomic.Pointer[protocol.Level]  // sent with each request, on revisions that want that

	progress  table[*progressWish]
	questions questionTable
	queue     queue
	received  receivedTable
	followed  followTable
	answering atomic.Int64 // number of running handlers of questions
	streams   table[*stream]
	watched   watchTable
	renewals  renewals

	// The fields below are written by Connect and read-only afterwards.
	server       protocol.Implementation
	capabilities protocol.ServerCapabilities
	instructions string
}

// Close ends the session and, for Command, the process. It cancels the contexts of running handlers
// and waits for the handlers, so a handler must not call it. Close returns the error of closing the
// connection. Further calls have no effect and return the same error.
func (c *Client) Close() error { return c.link.close() }

// Done returns a channel that is closed when the connection is lost or closed. From then on all
// calls fail. Over HTTP there is no connection to lose, so only Close closes the channel, or the end of
// the stream of HTTP+SSE.
func (c *Client) Done() <-chan struct{} { return c.link.lost }

// Err returns why the connection has ended, or nil while it is open. All further calls return this
// error.
func (c *Client) Err() error { return c.link.failure() }

// Server returns the server's name and version.
func (c *Client) Server() protocol.Implementation { return c.server }

// Revision returns the negotiated revision, for display.
func (c *Client) Revision() string { return c.dialect.Load().String() }

// Instructions returns the server's instructions for the model.
func (c *Client) Instructions() string { return c.instructions }

// Capabilities returns the capabilities that the server declared. Callers must not modify them.
func (c *Client) Capabilities() protocol.ServerCapabilities { return c.capabilities }

// Exchange sends one frame unchanged and waits for the response with the frame's id. A response
// without an id also counts, because servers send one for a frame whose id they cannot read. For a
// batch, Exchange waits for the response to the first request, and returns the frame that contains
// it. For a notification or a response, it returns nil as soon as the frame is sent. The caller
// keeps ownership of frame.
//
// If the id is already in flight, Exchange returns an error. The client's own ids start at 1001.
//
// Exchange is for tests and proxies. It does not add a _meta. The end of ctx ends the wait but does
// not cancel the request.
func (c *Client) Exchange(ctx context.Context, frame []byte) ([]byte, error) {
	waiting := understand(frame).waiting
	if len(waiting) == 0 {
		return nil, c.link.send(ctx, frame)
	}
	w, err := c.link.await(ctx, waiting[0], true)
	if err != nil {
		return nil, err
	}
	ctx, done := c.link.dispatch.calling(ctx)
	defer done()
	got, err := c.link.roundTrip(ctx, w, frame)
	if err != nil {
		return nil, err
	}
	return got.frame, nil
}

// meta returns the _meta of a request, which describes the client (2026-07-28 basic, "_meta"). It
// declares the tasks extension only if the caller can handle a task. A server may answer any
// request that declares the extension with a task (SEP-2663).
func (c *Client) meta(d *dialect.Dialect, tasks bool) *protocol.RequestMeta {
	m := &protocol.RequestMeta{}
	if d.Handshake() {
		return m
	}
	m.Revision, m.Client, m.Capabilities = d.String(), &c.config.info, &c.can
	if tasks {
		with := c.can
		with.Tasks = true
		m.Capabilities = &with
	}
	if level := c.level.Load(); level != nil && d.LogLevelPerRequest() {
		m.LogLevel = *level
	}
	return m
}

// how holds the settings of one request, in addition to its params.
type how struct {
	progress  func(protocol.Progress)
	quiet     bool // if the caller gives up, no cancellation is sent: initialize must not be cancelled, and a probe need not be
	once      bool // the request is part of a remedy, and is not repeated itself
	rounds    bool // for Request: the server's questions are answered
	nilOption bool // an option was nil; the call returns an error

	tasks bool                // an answer may be a task
	ttl   time.Duration       // requested lifetime of the task; if 0, the server decides
	state func(protocol.Task) // called with each state of an awaited task; may be nil
	lasts *func()             // if not nil, progress goes on after the answer, and attempt stores the function that ends it
}

// do sends one request and returns its raw result. If an HTTP server refused the request for a
// reason that remedy can remove, do sends it once more, with a new id.
//
// It runs in the goroutine of the caller and holds no lock while it waits. The result refers to the
// frame of the answer, which belongs to the caller from then on.
func (c *Client) do(ctx context.Context, d *dialect.Dialect, p protocol.Params, h how) (json.RawMessage, error) {
	if h.nilOption {
		return nil, errors.New("client: an option of the call is nil")
	}
	ctx, done := c.link.dispatch.calling(ctx)
	defer done()
	if h.quiet || h.once {
		return c.attempt(ctx, d, p, h)
	}
	if err := c.renewed(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", protocol.MethodOf(p), err)
	}
	raw, err := c.attempt(ctx, d, p, h)
	if err == nil {
		return raw, nil
	}
	if err := c.remedy(ctx, d, protocol.MethodOf(p), err); err != nil {
		return nil, err
	}
	return c.attempt(ctx, d, p, h)
}

// attempt sends the request once, under a new id. The progress function is registered before the
// frame is sent, and removed before attempt returns. If the call was answered and may have become a
// task, the owner of h.lasts removes it instead. If ctx ends first, the waiter has been removed when
// giveUp runs, so a late answer is dropped.
func (c *Client) attempt(ctx context.Context, d *dialect.Dialect, p protocol.Params, h how) (_ json.RawMessage, err error) {
	id, m := c.link.nextID(), c.meta(d, h.tasks || isTaskMethod(protocol.MethodOf(p)))
	if h.progress != nil {
		m.ProgressToken = id
		stop := c.wantProgress(id, h.progress, h.lasts != nil)
		defer func() {
			if h.lasts == nil || err != nil {
				stop()
			} else {
				*h.lasts = stop
			}
		}()
	}
	frame, err := appendRequest(d, id, p, m)
	if err != nil {
		return nil, err
	}
	w, err := c.link.await(ctx, id, false)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", protocol.MethodOf(p), err)
	}
	w.ahead = h.quiet || h.once
	got, err := c.link.roundTrip(ctx, w, frame)
	if err != nil {
		if ctx.Err() != nil && got.frame == nil { // an answered request cannot be cancelled
			c.giveUp(d, id, h)
		}
		return nil, fmt.Errorf("%s: %w", protocol.MethodOf(p), err)
	}
	if got.msg.Kind == jsonrpc.Failure {
		return nil, fmt.Errorf("%s: %w", protocol.MethodOf(p), refusal(d, got))
	}
	return got.msg.Result, nil
}

// refusal returns the JSON-RPC error of an answer, joined with the carrier's error if there is one.
func refusal(d *dialect.Dialect, got answer) error {
	err := d.DecodeError(got.msg.Error)
	if got.msg.Error.Code == protocol.CodeInterrupted {
		err = &interruptedError{err}
	}
	if got.status == nil {
		return err
	}
	return &refusedError{error: err, status: got.status, anonymous: got.msg.ID.IsZero()}
}

// appendRequest encodes a request frame. An error means that p cannot be encoded in this revision.
func appendRequest(d *dialect.Dialect, id jsonrpc.ID, p protocol.Params, m *protocol.RequestMeta) ([]byte, error) {
	params, err := d.AppendParams(nil, p, m)
	if err != nil {
		return nil, fmt.Errorf("client: encoding %s: %w", protocol.MethodOf(p), err)
	}
	return jsonrpc.AppendRequest(nil, id, protocol.MethodOf(p), params), nil
}

// ask sends one request, in several rounds if the server asks questions, and decodes its result.
func ask[R protocol.Result](ctx context.Context, c *Client, p protocol.Params, h how) (R, error) {
	result, _, err := c.inRounds(ctx, c.dialect.Load(), p, h)
	return resultAs[R](protocol.MethodOf(p), result, err)
}

// decodeResult is like decode, and also checks the type of the result.
func decodeResult[R protocol.Result](d *dialect.Dialect, method string, raw []byte) (R, error) {
	result, err := decode(d, method, raw)
	return resultAs[R](method, result, err)
}

// decode decodes a result. It does not wrap a fault of the result, because errors.As would take it
// for a refusal by the server.
func decode(d *dialect.Dialect, method string, raw []byte) (protocol.Result, error) {
	result, fault := d.DecodeResult(method, raw)
	if fault != nil {
		return nil, fmt.Errorf("client: invalid result of %s: %s", method, fault.Message)
	}
	return result, nil
}

// resultAs returns result as an R. If err is not nil, it returns err. If the server has answered with
// another kind of result, it returns an error.
func resultAs[R protocol.Result](method string, result protocol.Result, err error) (R, error) {
	r, ok := result.(R)
	if err == nil && !ok {
		err = fmt.Errorf("client: %s was answered with an unexpected kind of result", method)
	}
	return r, err
}

// notify sends a notification. It returns when the transport has accepted the frame; over HTTP,
// when the server has.
func (c *Client) notify(ctx context.Context, d *dialect.Dialect, p protocol.Params) error {
	params, err := d.AppendParams(nil, p, nil)
	if err != nil {
		return fmt.Errorf("client: encoding %s: %w", protocol.MethodOf(p), err)
	}
	return c.link.send(ctx, jsonrpc.AppendNotification(nil, protocol.MethodOf(p), params))
}

// courtesy limits how long a caller that gave up waits for the cancellation to be sent.
const courtesy = 100 * time.Millisecond

// giveUp drops a request after its caller has stopped waiting. Unless the request is quiet, it also
// notifies the server. A request for a task must be cancelled with the id of the task instead, and
// that id is not known yet (2025-11-25 basic/utilities/cancellation).
func (c *Client) giveUp(d *dialect.Dialect, id jsonrpc.ID, h how) {
	switch {
	case !h.quiet && h.lasts == nil:
		c.cancelled(d, id)
	case c.http != nil:
		c.http.abandon(id)
	}
}

// cancelled notifies the server that a request is cancelled. The notification is sent before
// anything that the caller sends next. If the server does not read, cancelled returns after
// courtesy at the latest, because the caller's time is over.
//
// Over HTTP of 2026-07-28, closing the response is the cancellation. On earlier revisions it is
// not, so the response is closed only after the notification (basic/transports).
//
// The goroutine goes on after courtesy, for at most farewell, and Close waits for it. told is
// closed by it alone.
func (c *Client) cancelled(d *dialect.Dialect, id jsonrpc.ID) {
	if c.http != nil && d.CancelByClose() {
		c.http.abandon(id)
		return
	}
	told := make(chan struct{})
	_ = c.link.spawn(func() {
		defer close(told)
		ctx, cancel := context.WithTimeout(c.link.life, farewell)
		defer cancel()
		_ = c.notify(ctx, d, &protocol.CancelledParams{ID: id, Reason: "the caller gave up"})
		if c.http != nil {
			c.http.abandon(id) // the response is not read any more
		}
	})
	waitFor(c.link.life, told, courtesy) // does not wait after Close, which ends life
}
