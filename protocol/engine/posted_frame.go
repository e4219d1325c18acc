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

// Header fields that describe a frame.
const (
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
)

// postedFrame is a frame that arrived in an HTTP request of its own. The kind of frame decides which
// connection it belongs to, if any.
type postedFrame struct {
	e       *Engine
	request *transport.Request
	version string           // in the header; empty if there is no such field
	modern  *dialect.Dialect // of version; nil: the version has sessions, or is unknown
	unclear bool             // the header field is repeated or empty
}

func (e *Engine) acceptPosted(r *transport.Request, frame []byte) (transport.Exchange, error) {
	p := postedFrame{e: e, request: r}
	if version, times := r.Fields.Value(headerVersion); times > 0 {
		p.version = strings.Trim(version, " \t")
		p.unclear = times > 1 || p.version == ""
		p.modern, _ = dialect.PerRequest(p.version)
	}
	outline := e.outlines.take()
	defer e.outlines.give(outline)
	if err := outline.Check(frame, e.cfg.Limits); err != nil {
		return p.admit(p.refusal(salvaged(frame), unreadable(err)))
	}
	if jsonrpc.IsBatch(frame) {
		return p.batch(frame)
	}
	return p.admit(p.accept(outline.Object()))
}

func (p *postedFrame) admit(x *exchange) (transport.Exchange, error) { return p.e.admit(x.conn, x) }

func (p *postedFrame) refusal(id jsonrpc.ID, err *jsonrpc.Error) *exchange {
	x := &p.e.newSessionless().exchange
	x.request, x.id, x.refuse, x.status = p.request, id, err, http.StatusBadRequest
	return x
}

func (p *postedFrame) accept(frame jsontext.Object) *exchange {
	msg, fault := jsonrpc.DecodeObject(frame, dialect.MethodName)
	if fault != nil {
		return p.refusal(fault.ID, &jsonrpc.Error{Code: fault.Code, Message: fault.Reason})
	}
	b := peek(msg.Body)
	x := p.exchange(b.claimed || p.modern != nil)
	x.frame, x.id, x.method = frame.Raw(), msg.ID, msg.Method
	if msg.Kind != jsonrpc.Request {
		p.oneWay(x, msg)
	} else if fault := p.classify(x, &b); fault != nil {
		x.refuseBy(fault)
	}
	if x.conn == nil { // there is no session
		x.conn = &conn{e: p.e, single: true}
	}
	return x
}

// exchange returns a sessionless exchange if alone is set. Otherwise it returns an exchange without a
// connection, whose session is found later.
func (p *postedFrame) exchange(alone bool) *exchange {
	if !alone {
		return &exchange{request: p.request}
	}
	x := &p.e.newSessionless().exchange
	x.request = p.request
	return x
}

// classify selects the dialect by the body. The header is a cross-check (2026-07-28
// basic/versioning). The official suite determines the order of the checks.
func (p *postedFrame) classify(x *exchange, b *requestParams) *protocol.Fault {
	switch {
	case b.claimed:
		if p.unclear || p.version != b.version {
			x.dialect, _ = dialect.PerRequest(dialect.PerRequestVersions()[0])
			return unlike(p.request, headerVersion, "the protocolVersion")
		}
		return x.conn.classifyModern(x, b, b.version)
	case p.modern != nil && x.method == protocol.MethodInitialize:
		x.dialect = p.modern
		return mismatch("%s names a revision that has no initialize", headerVersion)
	case p.modern != nil:
		return x.conn.classifyModern(x, b, p.version) // refuses, because the body lacks members that the revision requires
	}
	if fault := p.handshakeVersion(); fault != nil {
		return fault
	}
	if x.method == protocol.MethodInitialize {
		return p.initialize(x, b)
	}
	if fault := p.session(x); fault != nil {
		return fault
	}
	return x.conn.inSession(x, b)
}

func mismatch(format string, args ...any) *protocol.Fault {
	return protocol.Faultf(protocol.FaultHeaderMismatch, format, args...)
}

// unlike returns the fault of a header that does not repeat a part of the body.
func unlike(r *transport.Request, header, what string) *protocol.Fault {
	switch _, n := r.Fields.Value(header); n {
	case 0:
		return mismatch("%s is missing: it must repeat %s in the body", header, what)
	case 1:
		return mismatch("%s does not repeat %s in the body", header, what)
	default:
		return mismatch("%s is there %d times: once is right", header, n)
	}
}

// handshakeVersion accepts the date of any handshake revision, because one existing client sends
// another revision than it negotiated. Without the header, the session decides.
func (p *postedFrame) handshakeVersion() *protocol.Fault {
	if p.unclear || p.version != "" && !dialect.KnownHandshake(p.version) {
		return protocol.Faultf(protocol.FaultInvalidRequest, "unknown %s", headerVersion)
	}
	return nil
}

// session finds the session that the request names (2025-03-26 basic/transports "Session
// Management"). If the request does not name a session, the fault is sent as 400. If the session is
// unknown, it is sent as 404.
func (p *postedFrame) session(x *exchange) *protocol.Fault {
	link, err := p.request.Sessions.Find()
	if err != nil {
		return x.notFound(err)
	}
	if link == nil {
		return needsSession()
	}
	x.conn = p.e.connection(link)
	if link.OneRequest {
		x.conn.assume(p.version)
	}
	x.session = x.conn.current()
	if x.session == nil { // the session has ended since Find
		x.status = http.StatusNotFound
		return protocol.Faultf(protocol.FaultInvalidRequest, "no such session")
	}
	x.dialect = x.session.dialect
	return nil
}

// notFound returns the fault for an error of Sessions.Find. If sessions cannot be looked up now, the
// status is not 404, because 404 would end the session.
func (x *exchange) notFound(err error) *protocol.Fault {
	if errors.Is(err, transport.ErrUnavailable) {
		x.status = http.StatusServiceUnavailable
		return protocol.Faultf(protocol.FaultInternal, "sessions cannot be looked up now")
	}
	x.status = http.StatusNotFound
	return protocol.Faultf(protocol.FaultInvalidRequest, "no such session")
}

// initialize opens a session after the parameters have been decoded.
func (p *postedFrame) initialize(x *exchange, b *requestParams) *protocol.Fault {
	link, err := p.request.Sessions.Find()
	if err != nil {
		return x.notFound(err)
	}
	if link != nil && !link.OneRequest {
		return protocol.Faultf(protocol.FaultInvalidRequest, "the session is already initialized")
	}
	x.dialect = dialect.Handshake("")
	if _, fault := x.decodeInitialize(b); fault != nil { // before the session is opened
		return fault
	}
	if link == nil {
		link, err = p.request.Sessions.Open()
	}
	if err != nil {
		x.status = http.StatusServiceUnavailable
		return protocol.Faultf(protocol.FaultInternal, "too many sessions")
	}
	x.conn = p.e.connection(link)
	return x.conn.classifyInitialize(x, b, false)
}

// oneWay accepts notifications and responses. They get no answer, except the HTTP status if the
// session does not exist. On 2026-07-28 they have no meaning and are dropped.
func (p *postedFrame) oneWay(x *exchange, msg jsonrpc.Message) {
	if x.conn != nil { // a sessionless exchange
		x.run = ignore
		return
	}
	fault := p.handshakeVersion()
	if fault == nil {
		fault = p.session(x)
	}
	if fault != nil {
		x.id = jsonrpc.ID{} // the id of a response belongs to a request of the server
		x.refuseBy(fault)
		return
	}
	if msg.Kind == jsonrpc.Notification {
		x.run = x.conn.notified(x, msg.Params)
		return
	}
	x.run = x.conn.answered(x, msg)
}

func (p *postedFrame) batch(frame []byte) (transport.Exchange, error) {
	if p.modern != nil && !p.unclear {
		return p.admit(p.refusal(jsonrpc.ID{}, errNoBatches))
	}
	x := p.refusal(jsonrpc.ID{}, nil)
	fault := p.handshakeVersion()
	if fault == nil {
		x.status = 0
		fault = p.session(x)
	}
	if fault != nil {
		x.refuseBy(fault)
		return p.admit(x)
	}
	return x.conn.acceptBatch(frame, p.request)
}

// refuseBy makes the fault the only answer, with its HTTP status.
func (x *exchange) refuseBy(fault *protocol.Fault) {
	x.refuse = x.fault(fault)
	x.status = x.refusalStatus()
}

// refusalStatus returns the HTTP status of a fault that was found before user code ran. In a session,
// errors are sent with 200, because 404 would end the session.
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

// answerStatus returns the HTTP status of an error that a handler caused.
func (x *exchange) answerStatus(code int) int {
	if x.dialect == nil || !x.dialect.StatusByCode() {
		return http.StatusOK
	}
	return dialect.HTTPStatus(code)
}

// mirrored compares Mcp-Method and Mcp-Name with the body (2026-07-28
// basic/transports/streamable-http "Standard Headers"), and returns the name.
func (x *exchange) mirrored(params jsontext.Object) (name string, fault *protocol.Fault) {
	if !x.byHeader() {
		return "", nil
	}
	if method, ok := x.header(headerMethod); !ok || method != x.method {
		return "", unlike(x.request, headerMethod, "the method")
	}
	value, ok := x.header(headerName)
	name, err := dialect.DecodeMirror(value)
	same, named := dialect.MirrorsName(x.method, params, name)
	if named && (!ok || err != nil || !same) {
		return "", unlike(x.request, headerName, "the name")
	}
	return name, nil
}

// mirroredArguments compares the Mcp-Param-* fields with the arguments of a tool.
func (x *exchange) mirroredArguments(tool string, params jsontext.Object) *protocol.Fault {
	if !x.byHeader() || x.method != protocol.MethodCallTool {
		return nil
	}
	mirrors := x.snapshot.Mirrors(tool)
	if len(mirrors) == 0 {
		return nil
	}
	arguments, _ := params.Member("arguments")
	for i := range mirrors {
		if err := x.repeats(&mirrors[i], arguments); err != nil {
			return mismatch("%s: %v", mirrors[i].Header, err)
		}
	}
	return nil
}

func (x *exchange) repeats(m *dialect.Mirror, arguments []byte) error {
	want, present := m.Value(arguments)
	value, times := x.request.Fields.Value(m.Header)
	switch {
	case !present && times == 0:
		return nil
	case !present:
		return errors.New("the arguments hold no such value")
	case times != 1:
		return errors.New("it must be there once")
	}
	text, err := dialect.DecodeMirror(strings.Trim(value, " \t"))
	if err != nil {
		return err
	}
	if !m.Same(text, want) {
		return errors.New("it does not repeat the argument")
	}
	return nil
}

// byHeader reports whether the header of the HTTP request must repeat parts of this frame.
func (x *exchange) byHeader() bool {
	return x.request != nil && x.request.Sessions != nil && x.dialect.MirrorHeaders()
}

// header returns a field that must occur exactly once, without surrounding space. It returns false if
// the field is missing or repeated.
func (x *exchange) header(name string) (string, bool) {
	value, times := x.request.Fields.Value(name)
	if times != 1 {
		return "", false
	}
	return strings.Trim(value, " \t"), true
}

// Plan implements transport.Planned.
func (x *exchange) Plan() transport.Plan {
	p := transport.Plan{Answered: x.run == nil, LongLived: x.feed != nil || x.method == protocol.MethodTaskResult}
	if d := x.dialect; d != nil {
		p.Resumable, p.Polls, p.CancelByClose = d.Resumable(), d.PollStreams(), d.CancelByClose()
	}
	return p
}
