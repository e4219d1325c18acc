package engine

import (
	"context"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// outlet is where a handler's effects go that are not its result. There are two: the exchange of a
// request, which sends to the client as long as the request has not been answered, and the
// execution of a task, which sends to the session that created the task, if it is there. All methods
// may be called concurrently.
type outlet interface {
	// notify sends a notification of the call. If the client cannot be reached, notify drops it.
	notify(ctx context.Context, p protocol.Params)
	// progress sends a report of progress, unless it does not increase. A total that is NaN is
	// unknown.
	progress(ctx context.Context, token jsonrpc.ID, done, total float64, message string)
	// end ends the context of the handler.
	end(cause error)
}

var (
	_ outlet = (*exchange)(nil)
	_ outlet = (*execution)(nil)
)

func (c *Call) outlet() outlet {
	if c.run != nil {
		return c.run
	}
	return c.x
}
