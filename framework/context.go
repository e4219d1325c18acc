package framework

import (
	"context"
	"net/http"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
)

// CallInfo is the information about a call. Its slices, maps and pointers are read-only.
type CallInfo struct {
	Principal    *Principal
	Client       protocol.Implementation
	Capabilities protocol.ClientCapabilities
	Revision     string // such as "2025-11-25"; for logs only
	Session      string // empty on 2026-07-28, which has no sessions, so do not use it as a map key there
	Request      string // JSON-RPC id, as JSON
	Call         string // ID of the call; the same in every round
	Round        int    // 0 for the first round
	Task         string // ID of the task that runs the call; empty outside a task
	URI          string // set for resources/read, as the client sent it; to compare, use Call.Name or protocol.NormalURI
	Meta         protocol.Meta
	Header       http.Header // nil unless the transport is HTTP
	RemoteAddr   string      // address of the client or of a proxy, such as "192.0.2.1:4711"; empty without a network
}

// Caller returns the information about the call of ctx. It never returns nil. Outside a handler, at
// most the principal is set. Only the principal is verified; clients can send anything in the other
// fields.
func Caller(ctx context.Context) *CallInfo {
	h := callCtxFrom(ctx)
	if h == nil || h.call == nil {
		return &CallInfo{Principal: transport.PrincipalFrom(ctx)}
	}
	c := h.call
	info := &CallInfo{
		Principal: transport.PrincipalFrom(ctx), Client: c.Client(), Capabilities: c.Capabilities(), Revision: c.Dialect.String(),
		Session: c.Session(), Request: c.RequestID(), Call: h.callID(), Round: h.roundOf(), Task: c.Task(), URI: h.uri,
		Header: c.Header(), RemoteAddr: c.RemoteAddr(),
	}
	if c.Meta.Raw != nil {
		info.Meta, _ = jsontext.Any(c.Meta.Raw).(map[string]any) // the engine has checked that it is an object
	}
	return info
}

// ServerFrom returns the server that runs the handler. It never returns nil. Outside a handler it
// returns a server that does nothing.
func ServerFrom(ctx context.Context) *Server {
	if h := callCtxFrom(ctx); h != nil {
		return h.server
	}
	return &Server{}
}
