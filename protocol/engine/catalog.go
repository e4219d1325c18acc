package engine

import (
	"context"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// Catalog is what a server serves. Snapshot is called once for each request and
// must not block.
type Catalog interface {
	Snapshot() Snapshot
}

// Snapshot is a catalog at one moment, immutable. The Call says who asks and in
// which dialect: what a snapshot shows may depend on the principal of ctx, on
// nothing else about the connection (2026-07-28 server/tools: a list MUST NOT
// vary per connection).
type Snapshot interface {
	// Capabilities of the server, as far as components decide them.
	Capabilities() protocol.ServerCapabilities

	// List is one page. An invalid cursor is an InvalidParams fault.
	List(ctx context.Context, c *Call, p *protocol.ListParams) (*protocol.Page, error)

	// Find is the handler of a CallToolParams, ReadResourceParams,
	// GetPromptParams or CustomParams, or the fault that there is none.
	Find(ctx context.Context, c *Call, p protocol.Params) (Handler, error)

	// Subscribe says whether the caller may hear of changes of a resource: nil, or the
	// fault or error that is the answer.
	Subscribe(ctx context.Context, c *Call, uri string) error

	// Complete an argument: at most 100 values.
	Complete(ctx context.Context, c *Call, p *protocol.CompleteParams) (*protocol.Completion, error)

	// Mirrors are the arguments of a tool that HTTP requests repeat in headers;
	// nil for a tool that is unknown or has none. Compiled once, read-only.
	Mirrors(tool string) []dialect.Mirror
}

// Handler runs one call. The context carries the Call (see From) and ends when
// the client cancels, the connection is gone or the server stops.
//
// The error is answered as it is if it is (wraps) a *protocol.Error or
// *protocol.Fault; any other is reported and answered as an internal error
// without its text. Handlers of tools therefore turn the user's errors into
// isError results themselves. A panic is reported and answered likewise.
type Handler interface {
	Handle(ctx context.Context, c *Call) (protocol.Result, error)
}
