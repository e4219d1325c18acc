package engine

import (
	"context"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport"
)

// retry tells a carrier over HTTP when the client may try again, if the error says so.
func (x *exchange) retry(ctx context.Context, err error) context.Context {
	if x.request == nil {
		return ctx
	}
	if after, ok := protocol.RetryAfter(err); ok {
		return transport.RetryAfter(ctx, after)
	}
	return ctx
}
