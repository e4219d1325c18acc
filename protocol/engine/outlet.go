package engine

import (
	"context"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// outlet receives the effects of a handler other than its result. There are two implementations. The
// exchange of a request sends to the client until the request has been answered. The execution of a
// task sends to the session that created the task, if it is served here. All methods are safe for
// concurrent use.
type outlet interface {
	// notify sends a notification of the call. If the client cannot be reached, notify drops it.
	notify(ctx context.Context, p protocol.Params)
	// progress sends a progress report. It drops a report that does not increase. A total that is NaN
	// is unknown.
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
