package engine

import (
	"errors"
	"net/http"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
)

// Header fields that speak of a frame.
const (
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
)

// posting is a frame that came by an HTTP request of its own. What kind of frame
// it is decides which connection it belongs to, if any.
type posting struct {
	e       *Engine
	request *transport.Request
	version string // of the header; empty without one
	repeats bool   // the header is there more than once
}

func (e *Engine) acceptPosted(r *transport.Request, frame []byte) (transport.Exchange, error) {
	p := &posting{e: e, request: r}
	if versions := r.Fields.Values(headerVersion); len(versions) > 0 {
		p.version, p.repeats = strings.Trim(versions[0], " \t"), len(versions) > 1
	}
	if err := jsontext.Check(frame, e.cfg.Limits); err != nil {
		return p.admit(p.refusal(jsonrpc.ID{}, unreadable(err)))
	}
	if jsonrpc.IsBatch(frame) {
		return p.batch(frame)
	}
	return p.admit(p.accept(frame))
}

func (p *posting) admit(x *exchange) (transport.Exchange, error) { return p.e.admit(x.conn, x) }

// alone is the state of an exchange that belongs to no session.
func (p *posting) alone() *conn { return &conn{e: p.e, single: true} }

func (p *posting) refusal(id jsonrpc.ID, err *jsonrpc.Error) *exchange {
	return &exchange{conn: p.alone(), request: p.request, id: id, refuse: err, status: http.StatusBadRequest}
}

func (p *posting) accept(frame []byte) *exchange {
	msg, fault := jsonrpc.Decode(frame)
	if fault != nil {
		return p.refusal(fault.ID, &jsonrpc.Error{Code: fault.Code, Message: fault.Reason})
	}
	x := &exchange{conn: p.alone(), frame: frame, id: msg.ID, method: msg.Method, request: p.request}
	if msg.Kind != jsonrpc.Request {
		p.oneWay(x, msg)
		return x
	}
	if fault := p.classify(x, msg.Params); fault != nil {
		x.refuse = x.fault(fault)
		x.status = x.refusalStatus()
	}
	return x
}

// classify decides by the body first: the header is a cross-check (2026-07-28
// basic/versioning; the order of the checks is that of the official suite).
func (p *posting) classify(x *exchange, params []byte) *protocol.Fault {
	version, claimed := dialect.Peek(params)
	modern, ofHeader := dialect.PerRequest(p.version)
	switch {
	case claimed:
		if p.repeats || p.version != version {
			x.dialect, _ = dialect.PerRequest(dialect.PerRequestVersions()[0])
			return mismatch("%s does not repeat the protocolVersion of the body", headerVersion)
		}
		return x.conn.classifyModern(x, params, version)
	case ofHeader && x.method == protocol.MethodInitialize:
		x.dialect = modern
		return mismatch("%s names a revision that has no initialize", headerVersion)
	case ofHeader:
		return x.conn.classifyModern(x, params, p.version) // refuses: the body lacks what that revision demands
	}
	if fault := p.handshakeVersion(); fault != nil {
		return fault
	}
	if x.method == protocol.MethodInitialize {
		return p.initialize(x, params)
	}
	if fault := p.session(x); fault != nil {
		return fault
	}
	return x.conn.inSession(x, params)
}

func mismatch(format string, args ...any) *protocol.Fault {
	return protocol.Faultf(protocol.FaultHeaderMismatch, format, args...)
}

// handshakeVersion accepts the date of any handshake revision: a client in the
// wild sends another than it negotiated. Without header the session knows.
func (p *posting) handshakeVersion() *protocol.Fault {
	if p.repeats || p.version != "" && !dialect.KnownHandshake(p.version) {
		return protocol.Faultf(protocol.FaultInvalidRequest, "unknown %s", headerVersion)
	}
	return nil
}

// session finds the session that the request names (2025-03-26 basic/transports
// "Session Management"): none is 400, one that is not there 404.
func (p *posting) session(x *exchange) *protocol.Fault {
	link, err := p.request.Sessions.Find()
	if err != nil {
		return x.notFound(err)
	}
	if link == nil {
		return protocol.Faultf(protocol.FaultInvalidParams,
			"no session: send initialize first, or name the revision in params._meta[\"io.modelcontextprotocol/protocolVersion\"]")
	}
	x.conn = p.e.connection(link)
	x.session = x.conn.current()
	if x.session == nil { // ended between the two
		x.status = http.StatusNotFound
		return protocol.Faultf(protocol.FaultInvalidRequest, "no such session")
	}
	x.dialect = x.session.dialect
	return nil
}

// notFound is the fault of Sessions.Find. 404 would end a session that is only out of
// sight for now.
func (x *exchange) notFound(err error) *protocol.Fault {
	if errors.Is(err, transport.ErrUnavailable) {
		x.status = http.StatusServiceUnavailable
		return protocol.Faultf(protocol.FaultInternal, "sessions cannot be looked up now")
	}
	x.status = http.StatusNotFound
	return protocol.Faultf(protocol.FaultInvalidRequest, "no such session")
}

// initialize opens a session, once its parameters are understood.
func (p *posting) initialize(x *exchange, params []byte) *protocol.Fault {
	link, err := p.request.Sessions.Find()
	if err != nil {
		return x.notFound(err)
	}
	if link != nil {
		return protocol.Faultf(protocol.FaultInvalidRequest, "the session is already initialized")
	}
	x.dialect = dialect.Handshake("")
	if _, fault := x.dialect.DecodeParams(x.method, params); fault != nil {
		return fault
	}
	if link, err = p.request.Sessions.Open(); err != nil {
		x.status = http.StatusServiceUnavailable
		return protocol.Faultf(protocol.FaultInternal, "too many sessions")
	}
	x.conn = p.e.connection(link)
	return x.conn.classifyInitialize(x, params, false)
}

// oneWay takes notifications and responses. They are never answered, but for the
// status of a session that is not there; what 2026-07-28 has no use for is dropped.
func (p *posting) oneWay(x *exchange, msg jsonrpc.Message) {
	_, claimed := dialect.Peek(msg.Params)
	if _, modern := dialect.PerRequest(p.version); modern || claimed {
		x.run = ignore
		return
	}
	fault := p.handshakeVersion()
	if fault == nil {
		fault = p.session(x)
	}
	if fault != nil {
		x.id = jsonrpc.ID{} // of a response: it names a request of ours
		x.refuse = x.fault(fault)
		x.status = x.refusalStatus()
		return
	}
	if msg.Kind == jsonrpc.Notification {
		x.run = x.conn.notified(x, msg.Params)
		return
	}
	x.run = x.conn.answered(x, msg)
}

func (p *posting) batch(frame []byte) (transport.Exchange, error) {
	x := p.refusal(jsonrpc.ID{}, nil)
	fault := p.handshakeVersion()
	if fault == nil {
		x.status = 0
		fault = p.session(x)
	}
	if fault != nil {
		x.refuse = x.fault(fault)
		x.status = x.refusalStatus()
		return p.admit(x)
	}
	return x.conn.acceptBatch(frame, p.request)
}

// refusalStatus is the HTTP status of a fault that was found before any user code
// ran. In a session errors travel with 200, because 404 would end it.
func (x *exchange) refusalStatus() int {
	switch {
	case x.status != 0:
		return x.status
	case x.session != nil:
		return http.StatusOK
	case x.dialect != nil && x.dialect.StatusByCode():
		if status := dialect.HTTPStatus(x.refuse.Code); status != http.StatusOK {
			return status
		}
	}
	return http.StatusBadRequest
}

// answerStatus is the HTTP status of an error that a handler caused.
func (x *exchange) answerStatus(code int) int {
	if x.dialect == nil || !x.dialect.StatusByCode() {
		return http.StatusOK
	}
	return dialect.HTTPStatus(code)
}

// mirrored compares Mcp-Method and Mcp-Name with the body (2026-07-28
// basic/transports/streamable-http "Standard Headers").
func (x *exchange) mirrored(params []byte) *protocol.Fault {
	if !x.byHeader() {
		return nil
	}
	if method, ok := x.header(headerMethod); !ok || method != x.method {
		return mismatch("%s does not repeat the method", headerMethod)
	}
	name, ok := dialect.MirrorName(x.method, params)
	if !ok {
		return nil
	}
	value, ok := x.header(headerName)
	if ok {
		text, err := dialect.DecodeMirror(value)
		ok = err == nil && text == name
	}
	if !ok {
		return mismatch("%s does not repeat the name in the body", headerName)
	}
	return nil
}

// mirroredArguments compares Mcp-Param-* with the arguments of a tool.
func (x *exchange) mirroredArguments(params []byte) *protocol.Fault {
	if !x.byHeader() || x.method != protocol.MethodCallTool || jsontext.KindOf(params) != jsontext.KindObject {
		return nil
	}
	name, _ := dialect.MirrorName(x.method, params)
	arguments, _ := jsontext.Member(params, "arguments")
	for _, m := range x.snapshot.Mirrors(name) {
		if err := x.repeats(&m, arguments); err != nil {
			return mismatch("%s: %v", m.Header, err)
		}
	}
	return nil
}

func (x *exchange) repeats(m *dialect.Mirror, arguments []byte) error {
	want, present := m.Value(arguments)
	value, ok := x.header(m.Header)
	switch {
	case !present && len(x.request.Fields.Values(m.Header)) == 0:
		return nil
	case !present:
		return errors.New("the arguments hold no such value")
	case !ok:
		return errors.New("it must be there once")
	}
	text, err := dialect.DecodeMirror(value)
	if err != nil {
		return err
	}
	if !m.Same(text, want) {
		return errors.New("it does not repeat the argument")
	}
	return nil
}

// byHeader says whether headers speak of this frame.
func (x *exchange) byHeader() bool {
	return x.request != nil && x.request.Sessions != nil && x.dialect.MirrorHeaders()
}

// header is a field that must be there exactly once. Space around it does not count.
func (x *exchange) header(name string) (string, bool) {
	values := x.request.Fields.Values(name)
	if len(values) != 1 {
		return "", false
	}
	return strings.Trim(values[0], " \t"), true
}

// Plan tells an HTTP carrier how to respond.
func (x *exchange) Plan() transport.Plan {
	p := transport.Plan{Answered: x.run == nil}
	if d := x.dialect; d != nil {
		p.Resumable, p.Polls, p.CancelByClose = d.Resumable(), d.PollStreams(), d.CancelByClose()
	}
	return p
}
