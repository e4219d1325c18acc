package engine

import (
	"context"
	"errors"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/framebuf"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/storeerror"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/transport"
)

// outlet is where a handler runs, and the only way to what it may cause besides its result. There are
// two implementations. The exchange of a request sends to the client until the request has been
// answered. The execution of a task sends to the session that created the task, if it is served here.
// All methods but lend are safe for concurrent use.
//
// An outlet outlives the handler, because goroutines of the handler may keep the Call. After the
// end of the call, notify and progress drop what they get, ask fails, and end does nothing. The methods that send or
// perform an effect must not be called under round.mu. end may, and so may the methods of runInfo.
type outlet interface {
	runInfo

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
}

// runInfo is what an outlet knows about the run of its handler.
type runInfo interface {
	// lend returns a buffer for the result of the call c, or nil if the result is not sent at once.
	lend(c *Call) *framebuf.Buffer
	// source returns the request that the call came in.
	source() *origin
	// taskID returns the id of the task, or "" in a request.
	taskID() string
	// willRetry reports whether the handler runs again after an internal error.
	willRetry() bool
	// lost reports whether another worker has the task.
	lost() bool
}

// origin is the request that a call came in. The executions of a task have the origin of the request
// that created the task, as far as it outlives that request.
type origin struct {
	conn     *conn              // Engine.noConn in a task whose request had no session, or came to another node
	request  *transport.Request // the HTTP request that carried the frame; nil on other carriers, and in tasks
	addr     string             // address of the client; only in tasks, which have no request
	id       jsonrpc.ID
	dialect  *dialect.Dialect // nil: not known yet
	session  *session         // nil on 2026-07-28 and before initialize
	snapshot Snapshot
}

// argumentResult converts a fault of a tool's arguments into a result, which the model sees, on
// revisions that require that (SEP-1303). Otherwise it returns nil.
func (o *origin) argumentResult(c *Call, err error) *protocol.CallToolResult {
	f, ok := errors.AsType[*protocol.Fault](err)
	if !ok || f.Kind != protocol.FaultInvalidArguments || !o.dialect.ArgumentErrorsAreResults() {
		return nil
	}
	if _, tool := c.Params.(*protocol.CallToolParams); !tool {
		return nil
	}
	result := &protocol.CallToolResult{
		Content: []protocol.Block{protocol.Text{Text: f.Message}}, IsError: true,
	}
	if f.Data != nil { // the same list that older revisions send as the data of the error
		result.Meta = protocol.Meta{"kagami/invalidArguments": f.Data}
	}
	return result
}

// wireError returns the error that the client sees. It reports internal errors of the call, and
// replaces their texts. c may be nil.
func (o *origin) wireError(ctx context.Context, c *Call, err error) *jsonrpc.Error {
	if wire := o.fault(err); wire != nil {
		return wire
	}
	switch {
	case errors.Is(context.Cause(ctx), ErrShutdown), errors.Is(err, ErrShutdown):
		return &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "the server is shutting down"}
	case ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))):
		return &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "the call was cancelled"}
	case errors.Is(err, transport.ErrNoSession): // the client has ended it during the call, here or on another node
		return &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "the session has ended"}
	}
	o.conn.e.failed(ctx, c, err)
	wire := &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "internal error"}
	if store, ok := errors.AsType[*storeerror.Error](err); ok {
		wire.Message = store.Public()
	}
	if o.conn.e.cfg.Detail {
		wire.Message = err.Error()
	}
	return wire
}

// fault returns the wire form of a *protocol.Error or *protocol.Fault. For other errors it returns
// nil.
func (o *origin) fault(err error) *jsonrpc.Error {
	d := o.dialect
	if d == nil {
		d = dialect.Handshake("")
	}
	return d.Error(err)
}
