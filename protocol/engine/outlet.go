package engine

import (
	"context"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/framebuf"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// outlet is where a handler runs, and the only way to what it may cause besides its result. There are
// two implementations. The exchange of a request sends to the client until the request has been
// answered. The execution of a task sends to the session that created the task, if it is served here.
// All methods but lend are safe for concurrent use.
type outlet interface {
	// notify sends a notification of the call. If the client cannot be reached, notify drops it.
	notify(ctx context.Context, p protocol.Params)
	// progress sends a progress report, if the client asked for it. It drops a report that does not
	// increase. A total that is NaN is unknown.
	progress(ctx context.Context, token jsonrpc.ID, done, total float64, message string)
	// ask asks the client live. If it cannot be asked here, ask returns ErrCannotAsk.
	ask(ctx context.Context, p protocol.Params, progress func(protocol.Progress), t *wait.Order) (protocol.Result, error)
	// once performs an effect of the call c, unless it has happened.
	once(ctx context.Context, c *Call, key string, effect func(context.Context) ([]byte, error)) ([]byte, error)
	// end ends the context of the handler.
	end(cause error)
	// lend returns a buffer for the result of the call c, or nil if the result is not sent at once.
	lend(c *Call) *framebuf.Buffer
	// source returns the request that the call came in.
	source() *origin
	// taskID returns the id of the task, or "" in a request.
	taskID() string
	// willRetry reports whether the handler runs again after an internal error.
	willRetry() bool
}

var (
	_ outlet = (*exchange)(nil)
	_ outlet = (*execution)(nil)
)
