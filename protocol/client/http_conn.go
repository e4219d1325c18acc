package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

const (
	// maxBody limits one answer, and one event of a stream.
	maxBody = 64 << 20

	// httpQueue limits the frames that wait for Read. When the queue is full, streams are not read.
	httpQueue = 64

	// deleteTimeout limits the request that ends the session; Close waits for that request.
	deleteTimeout = 2 * time.Second
)

// httpConn is a connection over Streamable HTTP, or over HTTP+SSE after fallBack. Each frame that
// expects an answer is a POST in a goroutine of its own, started by spawn. Write posts all other
// frames itself, and returns when the server has accepted them. Read returns what these goroutines
// push to the queue. A failure concerns only one call, so Read and Write return a *callError for
// it.
//
// mu guards the state of the session. post sets session after initialize, and a failed renewal resets
// it. Connect sets agreed at its end. findEndpoint sets endpoint, which switches to HTTP+SSE for
// good.
//
// The goroutines of POSTs and streams share queue, with one reader. A full queue blocks them, and
// with them their streams, until Read is called or their contexts end. running has the cancel
// function of each POST, from Write until its goroutine ends. mu is not held during a request.
//
// client is a copy of the caller's client with a CheckRedirect of its own. gone is set before the
// first request.
type httpConn struct {
	options httpOptions
	client  http.Client
	url     *url.URL
	ctx     context.Context //nolint:containedctx // the connection's own life
	cancel  context.CancelFunc
	queue   chan arrival
	tools   table[[]dialect.Mirror] // arguments that are repeated in header fields, by tool; the slices are read-only
	gone    func(session string)    // called when a stream finds that the session has ended; must not block

	// authorizing counts requests that the server has answered but the authorizer has not returned.
	// A login may be in progress.
	authorizing atomic.Int32

	agreed   atomic.Pointer[dialect.Dialect] // revision that requests name; nil before the handshake is over
	endpoint atomic.Pointer[url.URL]         // URL for POST of HTTP+SSE; nil for Streamable HTTP, and never changes back
	running  table[context.CancelFunc]       // cancels a request, by its id
	workers

	mu       sync.Mutex // guards the fields below
	session  string
	listener context.CancelFunc // ends the GET stream; nil if none was opened
}

// arrival is a result of Read.
type arrival struct {
	frame []byte
	err   error
}

// dialHTTP sends nothing. ctx is the life of the connection, not of the dial.
func dialHTTP(ctx context.Context, address string, o httpOptions) (*httpConn, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is not an absolute http or https URL", address)
	}
	c := &httpConn{options: o, url: u, queue: make(chan arrival, httpQueue)}
	for _, own := range []string{headerSession, headerVersion, headerMethod, headerName, headerEventID} {
		c.options.header.Del(own)
	}
	c.client, c.gone = *o.client, func(string) {}
	c.client.CheckRedirect = c.redirect
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c, nil
}

// redirect keeps secrets from other origins. net/http compares only host names, but another port
// may belong to another party, and plain http can be read on the network. A redirect from https to
// http is an error.
func (c *httpConn) redirect(req *http.Request, via []*http.Request) error {
	if origin(req.URL) != origin(c.url) {
		for name := range c.options.header {
			req.Header.Del(name)
		}
		req.Header.Del("Authorization")
		req.Header.Del("DPoP")
		req.Header.Del(headerSession)
	}
	if err := c.checkRedirect(req, via); err != nil {
		return err
	}
	if last := via[len(via)-1].URL; last.Scheme == "https" && req.URL.Scheme != "https" {
		return fmt.Errorf("refused: the server redirects from https to %s (%s)", req.URL.Scheme, req.URL.Redacted())
	}
	return nil
}

// checkRedirect calls the CheckRedirect of the caller's client. Without one, it behaves like
// net/http.
func (c *httpConn) checkRedirect(req *http.Request, via []*http.Request) error {
	if check := c.options.client.CheckRedirect; check != nil {
		return check(req, via)
	}
	if len(via) >= 10 {
		return errors.New("stopped after 10 redirects")
	}
	return nil
}

// Read returns the next frame. Frames of one stream keep their order.
func (c *httpConn) Read(ctx context.Context) ([]byte, error) {
	select {
	case a := <-c.queue:
		return a.frame, a.err
	case <-c.ctx.Done():
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// push queues a frame or an error for Read. It returns false if ctx or the connection ends first.
//
// It may block. No lock may be held.
func (c *httpConn) push(ctx context.Context, a arrival) bool {
	select {
	case c.queue <- a:
		return true
	case <-ctx.Done():
		return false
	case <-c.ctx.Done():
		return false
	}
}

// Write posts one frame. If the frame expects an answer, Write does not wait for the response.
func (c *httpConn) Write(ctx context.Context, frame []byte) error {
	o := understand(bytes.Clone(frame)) // the caller keeps frame, and the goroutine of the POST owns o
	if len(o.waiting) == 0 {
		ctx, stop := within(ctx, c.ctx)
		defer stop()
		if err := c.tell(ctx, o); err != nil {
			return &callError{error: err}
		}
		return nil
	}
	// The request keeps the values of ctx, for traces, but not its end: abandon cancels the
	// request.
	ctx, stop := within(context.WithoutCancel(ctx), c.ctx)
	for _, id := range o.waiting {
		c.running.put(id.Key(), stop)
	}
	if c.spawn(func() {
		defer stop()
		c.call(ctx, stop, o)
	}) != nil {
		stop()
		return io.ErrClosedPipe
	}
	return nil
}

// within returns a context that also ends with life.
func within(ctx, life context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	detach := context.AfterFunc(life, cancel)
	return ctx, func() {
		detach()
		cancel()
	}
}

// abandon closes the response to a request. On 2026-07-28 this cancels the request
// (basic/transports/streamable-http "Cancellation").
//
// The goroutine of the POST then ends, and pushes nothing more. Unknown ids are ignored.
func (c *httpConn) abandon(id jsonrpc.ID) {
	if stop := c.running.find(id.Key()); stop != nil {
		stop()
	}
}

// sessionID returns the id of the current session, or "". Another goroutine may replace the session
// at any time.
func (c *httpConn) sessionID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// setSession sets the session id that later requests send. Requests in progress keep the id that
// they were made with.
func (c *httpConn) setSession(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = id
}

// Close cancels all requests, waits for their goroutines, and ends the session. It is called once.
func (c *httpConn) Close() error {
	c.cancel()
	c.join()
	if c.sessionID() != "" {
		c.endSession()
	}
	return nil
}

// endSession sends DELETE for the session. Errors are ignored, because the server may answer 405 or
// be gone (2025-11-25 basic/transports "Session Management").
//
// It is called by Close, after all goroutines have ended.
func (c *httpConn) endSession() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), deleteTimeout)
	defer cancel()
	req, err := c.request(ctx, http.MethodDelete, nil)
	if err != nil {
		return
	}
	if resp, err := c.send(req); err == nil {
		discard(resp)
	}
}
