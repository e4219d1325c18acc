package engine

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/transport"
)

// ErrCannotAsk is returned by Ask where the client cannot be asked: its
// revision has no such request, it did not declare the capability, or the
// answer to the call has been sent.
var ErrCannotAsk = errors.New("engine: the client cannot be asked")

// Call is one request in progress, as handlers see it. All methods may be
// called concurrently, and do nothing harmful once the call has been answered.
type Call struct {
	Params  protocol.Params
	Dialect *dialect.Dialect
	Meta    protocol.RequestMeta
	Round   int // of the logical call; 0 is the first

	x  *exchange
	id string
}

type callKey struct{}

// From is the call that ctx belongs to, or nil.
func From(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// ID names the logical call, the same in every round and unlike any other of this engine.
func (c *Call) ID() string { return c.id }

// RequestID is the JSON-RPC id, as JSON.
func (c *Call) RequestID() string { return c.x.id.String() }

// Session names the handshake session; empty on 2026-07-28.
func (c *Call) Session() string {
	if s := c.x.session; s != nil {
		return s.id
	}
	return ""
}

// Client is who the client says it is; never a reason to behave otherwise
// (2026-07-28 basic). Zero if it did not say.
func (c *Call) Client() protocol.Implementation {
	if c.Meta.Client != nil {
		return *c.Meta.Client
	}
	if s := c.x.session; s != nil {
		return s.client
	}
	return protocol.Implementation{}
}

// Capabilities are what the client declared: in this request on 2026-07-28,
// else at the handshake.
func (c *Call) Capabilities() protocol.ClientCapabilities {
	if c.Meta.Capabilities != nil {
		return *c.Meta.Capabilities
	}
	if s := c.x.session; s != nil {
		return s.capabilities
	}
	return protocol.ClientCapabilities{}
}

// Header is the HTTP header of the request; nil on other carriers. Read-only.
func (c *Call) Header() http.Header {
	if r := c.x.request; r != nil {
		return r.Fields.Header()
	}
	return nil
}

// RemoteAddr is the client's address; empty on carriers without one.
func (c *Call) RemoteAddr() string {
	if r := c.x.request; r != nil {
		return r.RemoteAddr
	}
	if link := c.x.conn.link; link != nil {
		return link.RemoteAddr
	}
	return ""
}

// Principal is who calls, or nil.
func (c *Call) Principal(ctx context.Context) *transport.Principal {
	return transport.PrincipalFrom(ctx)
}

// Progress tells the client how far the call is, if it asked for that. total
// nil is unknown. Values that do not increase are dropped: the specification
// wants each to be greater than the one before (basic/utilities/progress).
func (c *Call) Progress(ctx context.Context, done float64, total *float64, message string) {
	if c.Meta.ProgressToken.IsZero() {
		return
	}
	c.x.reporting.Lock()
	defer c.x.reporting.Unlock()
	if !c.x.advance(done) {
		return
	}
	c.x.notify(ctx, &protocol.ProgressParams{
		Token: c.Meta.ProgressToken, Done: done, Total: total, Message: message,
	})
}

// WantsProgress says whether the client asked for progress.
func (c *Call) WantsProgress() bool { return !c.Meta.ProgressToken.IsZero() }

// Logs says whether the client wants log messages of this level from this call:
// by the level of the request on 2026-07-28, else by that of the session.
// Without a level nothing is sent.
func (c *Call) Logs(level protocol.Level) bool {
	limit := c.Meta.LogLevel
	if s := c.x.session; s != nil {
		limit = s.logLevel()
	}
	return limit != "" && level.Severity() >= limit.Severity()
}

// Log sends a log message if the client wants it. data is one JSON value.
func (c *Call) Log(ctx context.Context, level protocol.Level, logger string, data []byte) {
	if c.Logs(level) {
		c.x.notify(ctx, &protocol.LogParams{Level: level, Logger: logger, Data: data})
	}
}

// Ask sends a request of our own to the client, on the stream of this call, and
// waits for the answer: elicitation, sampling, roots, ping. The wait ends with
// ctx, with the configured timeout since the last sign of progress, or with the
// connection; the client is then told by notifications/cancelled. The error is
// ErrCannotAsk, the client's *protocol.Error or *protocol.Fault, or the reason
// that ended the wait.
func (c *Call) Ask(ctx context.Context, p protocol.Params, progress func(protocol.Progress)) (protocol.Result, error) {
	if !c.canAsk(p) {
		return nil, ErrCannotAsk
	}
	return c.x.ask(ctx, p, progress)
}

func (c *Call) canAsk(p protocol.Params) bool {
	if !c.Dialect.ServerRequests() || !c.Dialect.ServerMethod(p.Method()) {
		return false
	}
	can := c.Capabilities()
	switch p := p.(type) {
	case *protocol.ElicitParams:
		return p.URL == "" && can.Elicitation || p.URL != "" && can.ElicitURL
	case *protocol.CreateMessageParams:
		return can.Sampling && (len(p.Tools) == 0 || can.SamplingTool)
	case *protocol.ListRootsParams:
		return can.Roots
	}
	return true
}

func (e *Engine) newCallID() string {
	return e.callPrefix + strconv.FormatUint(e.calls.Add(1), 36)
}
