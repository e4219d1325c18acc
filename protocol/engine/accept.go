package engine

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/header"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
)

// Accept decodes one frame. Carriers call it in the order of arrival. It opens sessions and registers
// requests, so that later frames of the stream find them. The error is ErrShutdown.
func (e *Engine) Accept(ctx context.Context, frame []byte) (transport.Exchange, error) {
	frame = jsontext.TrimBOM(frame)
	a := e.arrival(ctx)
	outline := e.outlines.Take()
	defer e.outlines.Give(outline)
	if err := outline.Check(frame, jsontext.DefaultLimits()); err != nil {
		return e.admit(a.salvage(frame, unreadable(err)))
	}
	if jsonrpc.IsBatch(frame) {
		return a.batch(frame)
	}
	return e.admit(a.accept(outline.Object()))
}

// admit counts the exchange; see count.
func (e *Engine) admit(x *exchange) (transport.Exchange, error) {
	var err error
	if x.uncounted, err = e.count(x.conn, x); err != nil {
		return nil, err
	}
	return x, nil
}

// count counts an exchange of c with these messages. While the server stops, count refuses requests,
// but still accepts notifications and responses, because running calls may need them.
//
// It is the last step of Accept. If it refuses, it takes the requests out of flight again, and the
// caller gets ErrShutdown. Serve must be called for an exchange that was counted; otherwise Shutdown
// waits forever. Only an uncounted exchange is an exception.
func (e *Engine) count(c *conn, messages ...*exchange) (uncounted bool, err error) {
	needed := !slices.ContainsFunc(messages, func(x *exchange) bool { return x.run == nil })
	if needed && e.running.Closed() {
		return true, nil
	}
	if e.enter(c) {
		return false, nil
	}
	for _, x := range messages {
		if x.registered {
			c.unregister(x)
		}
	}
	return false, ErrShutdown
}

// salvage refuses a frame that the strict scanner refuses but other decoders accept, for example
// because of a lone surrogate. The sender of a request waits for an answer with its id. If the frame
// cannot be decoded at all, the id is absent. Members in other letter case count as well, and only
// these four are decoded.
func (a *arrival) salvage(frame []byte, why *jsonrpc.Error) *exchange {
	var members struct {
		ID     json.RawMessage  `json:"id"`
		Method *json.RawMessage `json:"method"` // nil also if it is null, as in some responses
		Result json.RawMessage  `json:"result"`
		Error  json.RawMessage  `json:"error"`
	}
	var id jsonrpc.ID
	if json.Unmarshal(frame, &members) == nil {
		id, _ = jsonrpc.ParseID(members.ID)
	}
	switch {
	case members.Method != nil:
		return a.refusal(frame, id, why)
	case !id.IsZero() && (members.Result != nil || members.Error != nil):
		return a.malformedResponse(id, why)
	}
	return a.refusal(frame, jsonrpc.ID{}, why)
}

// malformedResponse accepts a response that is not valid as an error response of the client. If it
// were dropped, the request of the server that it answers would wait until AskTimeout.
func (a *arrival) malformedResponse(id jsonrpc.ID, why *jsonrpc.Error) *exchange {
	return a.accept(jsontext.Bare(jsonrpc.AppendError(nil, id, why, false)))
}

// unreadable returns the error response for a frame that the scanner refuses. Its text names the
// reason, but repeats nothing of the frame.
func unreadable(err error) *jsonrpc.Error {
	if limit, ok := errors.AsType[*jsontext.LimitError](err); ok {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "frame refused: " + limit.Reason}
	}
	if syntax, ok := errors.AsType[*jsontext.SyntaxError](err); ok {
		return &jsonrpc.Error{Code: jsonrpc.CodeParse, Message: "not JSON: " + syntax.Reason}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeParse, Message: "not JSON"}
}

// accept decodes one message.
//
// It returns an exchange even if the message is refused; the refusal is then its answer. The
// exchange refers to the memory of frame, which belongs to the engine. A request that is not
// refused is registered when accept returns. The conn of the exchange is never nil.
func (a *arrival) accept(frame jsontext.Object) *exchange {
	msg, fault := jsonrpc.DecodeObject(frame, dialect.MethodName)
	switch {
	case fault != nil && !fault.ID.IsZero() && (fault.Notification || a.awaited(frame.Raw(), fault.ID)):
		return a.malformedResponse(fault.ID, &jsonrpc.Error{Code: fault.Code, Message: fault.Reason})
	case fault != nil && fault.Notification && !a.posted():
		return a.silence(frame.Raw())
	case fault != nil:
		return a.refusal(frame.Raw(), fault.ID, &jsonrpc.Error{Code: fault.Code, Message: fault.Reason})
	}
	b := peek(msg.Body)
	x := a.exchange(&b)
	x.frame, x.id, x.method = frame.Raw(), msg.ID, msg.Method
	if msg.Kind != jsonrpc.Request {
		a.oneWay(x, msg)
	} else if fault := a.classify(x, &b); fault != nil {
		x.refuseBy(fault)
	}
	if x.conn == nil { // a posted frame whose session was not found
		x.conn = &conn{e: a.e, single: true}
	}
	return x
}

// awaited reports whether a message that has neither a method nor a result is the response to a request
// of the server that waits here. JSON.stringify leaves out a result that is undefined.
func (a *arrival) awaited(frame []byte, id jsonrpc.ID) bool {
	if _, asks := jsontext.Member(frame, "method"); asks {
		return false
	}
	x := &exchange{origin: origin{conn: a.conn}}
	if a.posted() && a.find(x) != nil {
		return false
	}
	return x.conn.awaits(id)
}

// exchange returns the exchange of a message. A posted frame that names a revision without sessions
// gets a connection of its own. Another posted frame gets one when its session is found.
func (a *arrival) exchange(b *requestParams) *exchange {
	switch {
	case !a.posted():
		return &exchange{origin: origin{conn: a.conn, request: a.request}}
	case b.claimed || a.version.Modern != nil:
		x := &a.e.newSessionless().exchange
		x.request = a.request
		return x
	default:
		return &exchange{origin: origin{request: a.request}}
	}
}

// refusal returns an exchange that is only answered with an error.
func (a *arrival) refusal(frame []byte, id jsonrpc.ID, err *jsonrpc.Error) *exchange {
	if !a.posted() {
		return &exchange{origin: origin{conn: a.conn, id: id, dialect: a.conn.dialect()}, frame: frame, refuse: err}
	}
	x := &a.e.newSessionless().exchange
	x.request, x.frame, x.id, x.refuse, x.status = a.request, frame, id, err, http.StatusBadRequest
	return x
}

// silence returns an exchange without an answer, because faults of notifications and of responses are
// never answered (JSON-RPC 2.0 §4.1).
func (a *arrival) silence(frame []byte) *exchange {
	return &exchange{origin: origin{conn: a.conn, dialect: a.conn.dialect()}, frame: frame, run: ignore}
}

// oneWay accepts notifications and responses. They get no answer, except the HTTP status if the
// session of a posted one does not exist. In revisions without sessions, posted ones have no meaning
// and are dropped.
func (a *arrival) oneWay(x *exchange, msg jsonrpc.Message) {
	if a.posted() {
		if x.conn != nil { // sessionless
			x.run = ignore
			return
		}
		if fault := a.find(x); fault != nil {
			x.id = jsonrpc.ID{} // the id of a response belongs to a request of the server
			x.refuseBy(fault)
			return
		}
	}
	if msg.Kind == jsonrpc.Notification {
		x.run = x.conn.notified(x, msg.Params)
		return
	}
	x.run = x.conn.answered(x, msg)
}

// classify selects the dialect of a request (ADR 1: dialect per exchange), decodes the request, and
// registers it.
//
// A request whose _meta names a revision is served under that revision alone, even if the connection
// has a session. An initialize opens a session. Any other request belongs to the session. Before
// there is a session, only ping is answered. The body decides: the header of a posted frame is only
// compared with it.
func (a *arrival) classify(x *exchange, b *requestParams) *protocol.Fault {
	if a.posted() {
		if fault := a.agree(x, b); fault != nil {
			return fault
		}
	}
	switch {
	case b.claimed:
		return x.conn.classifyModern(x, b, b.version)
	case a.version.Modern != nil: // is refused, because the body lacks members that the revision requires
		return x.conn.classifyModern(x, b, a.version.Text)
	case x.method == protocol.MethodInitialize:
		return a.initialize(x, b)
	}
	if fault := a.session(x); fault != nil {
		return fault
	}
	return x.conn.inSession(x, b)
}

// session finds the session that a request belongs to.
//
// It sets x.conn, x.session and x.dialect. A session may end at any time after that; the request is
// then served to its end, and can no longer reach the client outside its response.
func (a *arrival) session(x *exchange) *protocol.Fault {
	if a.posted() {
		return a.find(x)
	}
	s := x.conn.current()
	switch {
	case s != nil:
		x.session, x.dialect = s, s.dialect
	case x.method == protocol.MethodPing:
		x.dialect = dialect.Handshake("")
	default:
		return needsSession()
	}
	return nil
}

// classifyModern checks a request that names its revision, in the order that the official suite
// expects: missing _meta members, then the version, then the method.
//
// After a fault, x is not registered. x.dialect is set in any case, because the fault is encoded in
// it.
func (c *conn) classifyModern(x *exchange, b *requestParams, version string) *protocol.Fault {
	d, known := dialect.PerRequest(version)
	if !known {
		x.dialect, _ = dialect.PerRequest(dialect.PerRequestVersions()[0])
	} else {
		x.dialect = d
	}
	meta, fault := c.e.metas.Decode(x.dialect, b.meta)
	if fault != nil {
		return fault
	}
	if !known {
		return &protocol.Fault{
			Kind: protocol.FaultUnsupportedVersion, Message: "unsupported protocol version",
			Supported: dialect.PerRequestVersions(), Requested: version,
		}
	}
	name := ""
	if x.byHeader() {
		if name, fault = header.Name(x.request, x.method, b.params); fault != nil {
			return fault
		}
	}
	return c.prepare(x, b, Meta{meta, b.meta.Raw()}, name)
}

// Bounds of the parameters of initialize, in bytes and in members and items. A session keeps the
// client's description of itself, including its icons, and a client may have many sessions.
const (
	maxHandshake        = 64 << 10
	maxHandshakeMembers = 1000
)

// maxListen bounds the frame of a subscription in bytes, because it is kept as long as the stream is
// open. It has room for feed.MaxWatched URIs of 120 bytes.
const maxListen = 128 << 10

// decodeInitialize decodes the parameters of initialize. It refuses parameters above the bounds.
func (x *exchange) decodeInitialize(b *requestParams) (protocol.Params, *protocol.Fault) {
	raw := b.params.Raw()
	if len(raw) > maxHandshake {
		return nil, protocol.Faultf(protocol.FaultInvalidParams, "the parameters of initialize have more than %d bytes", maxHandshake)
	}
	if len(raw) > maxHandshakeMembers && jsontext.Check(raw, jsontext.Limits{Elements: maxHandshakeMembers}) != nil {
		return nil, protocol.Faultf(protocol.FaultInvalidParams, "the parameters of initialize have more than %d members", maxHandshakeMembers)
	}
	return x.dialect.DecodeParamsObject(x.method, b.params)
}

// initialize opens a session. The parameters are decoded first, because a refused request must not
// leave a session behind.
func (a *arrival) initialize(x *exchange, b *requestParams) *protocol.Fault {
	if a.posted() {
		if fault := a.unopened(x); fault != nil {
			return fault
		}
	}
	x.dialect = dialect.Handshake("")
	if a.batched { // 2025-03-26 basic/lifecycle: initialize MUST NOT be part of a batch
		return protocol.Faultf(protocol.FaultInvalidRequest, "initialize must not be part of a batch")
	}
	p, fault := x.decodeInitialize(b)
	if fault != nil {
		return fault
	}
	if a.posted() {
		if fault := a.open(x); fault != nil {
			return fault
		}
	}
	if fault := x.register(); fault != nil {
		return fault
	}
	init, _ := p.(*protocol.InitializeParams)
	s, fresh := x.conn.open(init, b.params.Raw())
	if !fresh {
		x.conn.unregister(x)
		x.registered = false
		return alreadyInitialized()
	}
	x.session, x.dialect, x.call = s, s.dialect, x.newCall(p, noMeta)
	return nil
}

// inSession decodes and registers a request that is served in the dialect of the session.
func (c *conn) inSession(x *exchange, b *requestParams) *protocol.Fault {
	meta, fault := x.dialect.DecodeMetaObject(b.meta)
	if fault != nil {
		return fault
	}
	return c.prepare(x, b, Meta{meta, b.meta.Raw()}, "")
}

// prepare decodes a request in its dialect, and registers it. mirrored is the name in the header that
// repeats the name in the body; see header.Name.
//
// The snapshot is taken once and kept, so that the whole call sees one state of the catalog.
// register comes last, because nothing takes a refused request out of flight. A listen request must
// be registered before its feed: unregister removes both.
func (c *conn) prepare(x *exchange, b *requestParams, meta Meta, mirrored string) *protocol.Fault {
	x.snapshot = c.e.cfg.Catalog.Snapshot()
	if fault := x.served(); fault != nil {
		return fault
	}
	if x.method == protocol.MethodCallTool && x.byHeader() {
		if fault := header.Arguments(x.request, x.snapshot.Mirrors(mirrored), b.params); fault != nil {
			return fault
		}
	}
	if x.method == protocol.MethodListen && len(x.frame) > maxListen {
		return protocol.Faultf(protocol.FaultInvalidParams, "a subscription has more than %d bytes", maxListen)
	}
	p, fault := x.dialect.DecodeParamsObject(x.method, b.params)
	if fault != nil {
		return fault
	}
	x.call = x.newCall(p, meta)
	if fault := x.register(); fault != nil {
		return fault
	}
	if listen, ok := p.(*protocol.ListenParams); ok {
		x.subscribed(listen)
	}
	return nil
}

// served returns a fault if the method does not exist, in the revision or as a capability of this
// server. A method whose capability is not advertised is unknown in all revisions. A method outside
// the specification is looked up when it runs.
func (x *exchange) served() *protocol.Fault {
	caps := x.snapshot.Capabilities()
	caps.Tasks = caps.Tasks && x.conn.e.cfg.Tasks != nil
	if x.dialect.Serves(x.method, &caps, !x.conn.fleeting()) || !dialect.Known(x.method) {
		return nil
	}
	return protocol.Faultf(protocol.FaultMethodNotFound, "method not found: %s", jsontext.Clip(x.method, 128))
}
