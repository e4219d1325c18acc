package client

import (
	"bytes"
	"context"
	"net/http"
	"slices"

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

// answered removes an id, which the server may have written as a string. It returns false if o does
// not wait for that id.
func (o *outgoing) answered(id jsonrpc.ID) bool {
	i := slices.IndexFunc(o.waiting, func(w jsonrpc.ID) bool { return w.Key() == id.Key() || w.Key() == unquoted(id) })
	if i < 0 {
		return false
	}
	o.waiting = slices.Concat(o.waiting[:i], o.waiting[i+1:])
	return true
}

// request makes an HTTP request. If o is nil, it has no body.
func (c *httpConn) request(ctx context.Context, verb string, o *outgoing) (*http.Request, error) {
	target, session := c.url, c.sessionID()
	if endpoint := c.endpoint.Load(); endpoint != nil && verb == http.MethodPost {
		target = endpoint
	}
	var body []byte
	if o != nil {
		body = o.frame
	}
	req, err := http.NewRequestWithContext(ctx, verb, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, &sendError{err}
	}
	for name, values := range c.options.header {
		req.Header[name] = slices.Clone(values)
	}
	req.Host = c.options.header.Get("Host") // net/http ignores the header field; if empty, it uses the URL's host
	version := ""
	if agreed := c.agreed.Load(); agreed != nil && agreed.VersionHeader() {
		version = agreed.String()
	}
	req.Header.Set("Accept", typeStream)
	if o != nil {
		req.Header.Set("Content-Type", typeJSON)
		req.Header.Set("Accept", typeJSON+", "+typeStream)
		// A frame that names its version does not belong to a session (2026-07-28
		// basic/transports/streamable-http). initialize does not belong to one yet (2025-11-25
		// basic/transports).
		if o.version != "" || o.method == protocol.MethodInitialize {
			version, session = o.version, ""
		}
		c.mirror(req.Header, o)
	}
	set(req.Header, headerVersion, version)
	set(req.Header, headerSession, session)
	return req, nil
}

// set sets a header field, unless the value is empty.
func set(h http.Header, name, value string) {
	if value != "" {
		h.Set(name, value)
	}
}

// mirror repeats parts of the body in header fields (2026-07-28 basic/transports/streamable-http).
// Mcp-Method is always sent, because older servers ignore it. The other fields are sent only on
// revisions that use them.
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
	for _, m := range c.tools.find(name) {
		if text, present := m.Value(arguments); present {
			h.Set(m.Header, dialect.EncodeMirror(text))
		}
	}
}

// maxMirrored is the maximum number of tools with arguments that must be repeated in header fields.
const maxMirrored = 10_000

// learn reads a result of tools/list. A tool with invalid declarations must not be used over HTTP,
// so learn does not remember it. The server then refuses calls of the tool, because their header
// fields are missing.
func (c *httpConn) learn(result []byte) {
	tools, _ := jsontext.Member(result, "tools")
	for tool := range jsontext.Elements(tools) {
		name := textAt(tool, "name")
		schema, _ := jsontext.Member(tool, "inputSchema")
		switch mirrors, err := dialect.Mirrors(schema); {
		case err != nil || len(mirrors) == 0:
			c.tools.remove(name)
		case c.tools.find(name) != nil || c.tools.len() < maxMirrored:
			c.tools.put(name, mirrors) // in one step, because concurrent calls of the tool read the entry
		}
	}
}
