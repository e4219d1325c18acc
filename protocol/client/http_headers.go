package client

import (
	"bytes"
	"context"
	"net/http"
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerEventID = "Last-Event-ID"

	typeJSON   = "application/json"
	typeStream = "text/event-stream"
)

// outgoing is a frame and what the carrier must know about it. It is parsed from the frame and
// not passed along, so that the headers are right for frames of Exchange, too.
type outgoing struct {
	frame   []byte
	method  string // "": a response, a batch, or not a message
	params  []byte
	modern  *dialect.Dialect // the revision without handshake that the frame names; nil: it names none that is known
	version string           // the version that the frame names
	waiting []jsonrpc.ID     // requests that were not answered yet; a zero id is a frame that cannot be understood
}

func understand(frame []byte) *outgoing {
	o := &outgoing{frame: bytes.Clone(frame)}
	if jsontext.Check(o.frame, jsontext.Limits{}) == nil {
		if jsonrpc.IsBatch(o.frame) {
			o.batch()
			return o
		}
		if msg, fault := jsonrpc.Decode(o.frame); fault == nil {
			o.single(msg)
			return o
		}
	}
	if id, answered := answerID(o.frame); answered {
		o.waiting = []jsonrpc.ID{id}
	}
	return o
}

func (o *outgoing) single(msg jsonrpc.Message) {
	o.method, o.params = msg.Method, msg.Params
	if version, claimed := dialect.Peek(msg.Params); claimed {
		o.version = version
		o.modern, _ = dialect.PerRequest(version)
	}
	if msg.Kind == jsonrpc.Request {
		o.waiting = []jsonrpc.ID{msg.ID}
	}
}

func (o *outgoing) batch() {
	texts, fault := jsonrpc.Batch(o.frame)
	if fault != nil {
		o.waiting = []jsonrpc.ID{{}}
		return
	}
	for _, text := range texts {
		if id, answered := memberID(text); answered {
			o.waiting = append(o.waiting, id)
		}
	}
}

// answered removes an id; false if that was not waited for.
func (o *outgoing) answered(id jsonrpc.ID) bool {
	for i, w := range o.waiting {
		if w.Key() == id.Key() {
			o.waiting = append(o.waiting[:i:i], o.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// request makes a request; o is nil if it has no body.
func (c *httpConn) request(ctx context.Context, verb string, o *outgoing) (*http.Request, error) {
	c.mu.Lock()
	agreed, session, target := c.agreed, c.session, c.url
	if verb == http.MethodPost && c.endpoint != nil {
		target = c.endpoint
	}
	c.mu.Unlock()
	var body []byte
	if o != nil {
		body = o.frame
	}
	req, err := http.NewRequestWithContext(ctx, verb, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, &sendError{err}
	}
	for name, values := range c.options.header {
		req.Header[name] = append([]string(nil), values...)
	}
	req.Host = c.options.header.Get("Host") // net/http takes it from nowhere else; empty: the URL's
	version := ""
	if agreed != nil && agreed.VersionHeader() {
		version = agreed.String()
	}
	req.Header.Set("Accept", typeStream)
	if o != nil {
		req.Header.Set("Content-Type", typeJSON)
		req.Header.Set("Accept", typeJSON+", "+typeStream)
		version, session = o.identity(version, session)
		c.mirror(req.Header, o)
	}
	set(req.Header, headerVersion, version)
	set(req.Header, headerSession, session)
	return req, nil
}

// set leaves out what is empty.
func set(h http.Header, name, value string) {
	if value != "" {
		h.Set(name, value)
	}
}

// identity returns the version and the session to send with a frame: those of the
// connection, unless the frame names its version, and so belongs to no session (2026-07-28
// basic/transports/streamable-http), or is initialize, which belongs to none yet (2025-11-25
// basic/transports).
func (o *outgoing) identity(version, session string) (ownVersion, ownSession string) {
	switch {
	case o.version != "":
		return o.version, ""
	case o.method == protocol.MethodInitialize:
		return "", ""
	}
	return version, session
}

// mirror repeats parts of the body in headers (2026-07-28 basic/transports/streamable-http).
// Older servers ignore Mcp-Method; the other headers are sent only to servers that look at
// them.
func (c *httpConn) mirror(h http.Header, o *outgoing) {
	if o.method != "" && dialect.EncodeMirror(o.method) == o.method {
		h.Set(headerMethod, o.method)
	}
	if o.modern == nil || !o.modern.MirrorHeaders() {
		return
	}
	name, named := dialect.MirrorName(o.method, o.params)
	if named {
		h.Set(headerName, dialect.EncodeMirror(name))
	}
	if o.method != protocol.MethodCallTool {
		return
	}
	arguments, _ := jsontext.Member(o.params, "arguments")
	for _, m := range c.tools.of(name) {
		if text, present := m.Value(arguments); present {
			h.Set(m.Header, dialect.EncodeMirror(text))
		}
	}
}

// maxMirrored bounds the tools whose mirrored arguments are remembered.
const maxMirrored = 10_000

// mirrorTable knows from the lists of tools which arguments must be repeated in headers.
type mirrorTable struct {
	mu sync.Mutex // guards the fields below
	by map[string][]dialect.Mirror
}

func (t *mirrorTable) of(tool string) []dialect.Mirror {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.by[tool]
}

// learn reads a result of tools/list. A tool with invalid declarations must not be used over
// HTTP. It is not remembered, so the server refuses calls of it, since their headers are
// missing.
func (t *mirrorTable) learn(result []byte) {
	tools, _ := jsontext.Member(result, "tools")
	t.mu.Lock()
	defer t.mu.Unlock()
	for tool := range jsontext.Elements(tools) {
		raw, _ := jsontext.Member(tool, "name")
		name, _ := jsontext.String(raw)
		schema, _ := jsontext.Member(tool, "inputSchema")
		mirrors, err := dialect.Mirrors(schema)
		delete(t.by, name)
		if err != nil || len(mirrors) == 0 || len(t.by) >= maxMirrored {
			continue
		}
		if t.by == nil {
			t.by = map[string][]dialect.Mirror{}
		}
		t.by[name] = mirrors
	}
}
