package framework

import (
	"context"
	"net/http"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
)

// CallInfo is everything known about the call. Read-only.
type CallInfo struct {
	Principal    *Principal
	Client       protocol.Implementation
	Capabilities protocol.ClientCapabilities
	Revision     string // for logs only
	Session      string // empty on 2026-07-28, which has none: a map by it would be one entry for all those clients
	Request      string
	Call         string // the same in every round
	Round        int
	Task         string
	URI          string // of resources/read
	Meta         protocol.Meta
	Header       http.Header // nil unless HTTP
	RemoteAddr   string
}

// Caller says who calls. It never returns nil; outside a handler it knows the principal at
// most. What clients say about themselves proves nothing; only the principal does.
func Caller(ctx context.Context) *CallInfo {
	info := &CallInfo{Principal: transport.PrincipalFrom(ctx)}
	h := handlingFrom(ctx)
	if h == nil || h.call == nil {
		return info
	}
	c := h.call
	info.Client = c.Client()
	info.Capabilities = c.Capabilities()
	info.Revision = c.Dialect.String()
	info.Session = c.Session()
	info.Request = c.RequestID()
	info.Call = h.callID()
	info.Round = h.roundOf()
	info.URI = h.uri
	info.Task = c.Task()
	info.Header = c.Header()
	info.RemoteAddr = c.RemoteAddr()
	if c.Meta.Raw != nil {
		info.Meta, _ = jsontext.Any(c.Meta.Raw).(map[string]any) // the engine has checked that it is an object
	}
	return info
}

// ServerFrom returns the server that runs the handler. It is never nil: outside a handler
// the server does nothing.
func ServerFrom(ctx context.Context) *Server {
	if h := handlingFrom(ctx); h != nil {
		return h.server
	}
	return &Server{}
}
