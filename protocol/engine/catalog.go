package engine

import (
	"context"
	"time"

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

// Handler runs one call. The context ends when the client cancels, the connection is gone or the
// server stops.
//
// An error that is or wraps a *protocol.Error or *protocol.Fault is sent to the client. Any other
// error is reported, and answered as an internal error without its text. So is a panic. Handlers of
// tools therefore have to turn the user's errors into isError results themselves.
type Handler interface {
	Handle(ctx context.Context, c *Call) (protocol.Result, error)
}

// Tasked is a Handler whose calls may become tasks.
type Tasked interface {
	// TaskPolicy returns when calls become tasks. If it is nil, they never do. Callers must not
	// modify it.
	TaskPolicy() *TaskPolicy
}

// TaskPolicy determines when the calls of a tool become tasks, and how long and how often these run.
type TaskPolicy struct {
	// Required refuses calls of clients that cannot have a task, or did not ask for one. On a
	// revision without tasks, the tool runs in its request.
	Required bool
	// TTL is the lifetime from the creation, if the client does not ask for another. 0 is
	// 1 hour.
	TTL time.Duration
	// Poll is the interval at which clients should poll. 0 is 1 second.
	Poll time.Duration
	// Retries is how often the handler runs again after an internal error or a panic.
	Retries int
	// Deaths is how often the handler runs again because its worker is gone. 0 is 5, and a negative
	// number means never. Each run counts for Retries and for Deaths.
	Deaths int
	// Immediate is the text that the model gets at once, if the client asked for the task
	// (2025-11-25). If it is empty, the client decides.
	Immediate string
	// AfterDetach keeps a call in its request until the handler calls Call.Detach, on 2026-07-28.
	// Until then the client is asked in rounds.
	AfterDetach bool
	// When restricts tasks to calls: it returns true if a call becomes one. If it is nil, all calls become
	// tasks.
	When func(ctx context.Context, arguments []byte) bool
	// Scopes are the scopes of the tool. Callers need them to read such a task, to answer its
	// questions and to cancel it.
	Scopes []string
}

// policy returns the policy of a handler. If its calls are never tasks, policy returns nil.
func policy(h Handler) *TaskPolicy {
	if t, ok := h.(Tasked); ok {
		return t.TaskPolicy()
	}
	return nil
}
