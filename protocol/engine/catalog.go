package engine

import (
	"context"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// Catalog provides the components of a server. Snapshot is called once for each request and must not
// block.
type Catalog interface {
	Snapshot() Snapshot
}

// Snapshot is the immutable state of a catalog at one moment. The Call contains the client and the
// dialect. The contents of a snapshot may depend on the principal of ctx, but on nothing else about
// the connection (2026-07-28 server/tools: a list MUST NOT vary per connection).
type Snapshot interface {
	// Capabilities returns the server's capabilities, as far as components determine them.
	Capabilities() protocol.ServerCapabilities

	// List returns one page. If the cursor is invalid, it returns an InvalidParams fault.
	List(ctx context.Context, c *Call, p *protocol.ListParams) (*protocol.Page, error)

	// Find returns the handler of a CallToolParams, ReadResourceParams, GetPromptParams or
	// CustomParams. If there is none, it returns the fault to answer.
	Find(ctx context.Context, c *Call, p protocol.Params) (Handler, error)

	// Subscribe returns nil if the caller may be notified of changes of a resource. Otherwise it
	// returns the fault or error to answer.
	Subscribe(ctx context.Context, c *Call, uri string) error

	// Complete completes an argument, with at most 100 values.
	Complete(ctx context.Context, c *Call, p *protocol.CompleteParams) (*protocol.Completion, error)

	// Mirrors returns the arguments of a tool that HTTP requests repeat in headers, or nil if the
	// tool is unknown or has none. They are compiled once. Callers must not modify them.
	Mirrors(tool string) []dialect.Mirror
}

// Handler runs one call. The context carries the Call (see From). It ends when the client cancels,
// the connection is gone or the server stops.
//
// An error that is or wraps a *protocol.Error or *protocol.Fault is sent to the client. Any other
// error is reported, and answered as an internal error without its text. So is a panic. Handlers of
// tools therefore have to turn the user's errors into isError results themselves.
type Handler interface {
	Handle(ctx context.Context, c *Call) (protocol.Result, error)
}
