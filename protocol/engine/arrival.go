package engine

import (
	"context"

	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/header"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
)

// arrival is one frame and the way it came. A connected frame came over a connection that the carrier
// keeps open (stdio, HTTP+SSE, memory), and conn is its state. A posted frame came in an HTTP request
// of its own: conn is nil, and the frame itself decides which session it belongs to, if any.
type arrival struct {
	e       *Engine
	conn    *conn
	request *transport.Request  // nil on carriers other than HTTP
	version header.VersionField // of a posted frame
	batched bool                // the frame is a member of a batch
}

// arrival returns the arrival of a frame with the context ctx. For a connected frame it also
// applies what other nodes have changed in the session. It makes the conn at the first frame of a
// connection.
func (e *Engine) arrival(ctx context.Context) arrival {
	request := transport.RequestFrom(ctx)
	if request != nil && request.Sessions != nil {
		return arrival{e: e, request: request, version: header.ReadVersion(request)}
	}
	return arrival{e: e, request: request, conn: e.connection(transport.ConnectionFrom(ctx))}
}

func (a *arrival) posted() bool { return a.conn == nil }

// requestParams is the params of a request, with the members that select its dialect.
type requestParams struct {
	params, meta jsontext.Object // meta is the _meta in params; absent if params has none
	version      string          // the revision that meta names; see claimed
	claimed      bool            // meta names a revision
}

func peek(params jsontext.Object) requestParams {
	b := requestParams{params: params, meta: dialect.MetaOf(params)}
	b.version, b.claimed = dialect.PeekMeta(b.meta)
	return b
}
