package engine

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/roundstore"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/transport"
)

// answer sends the result, or err as a result or an error. It is called once for each request, in
// the goroutine of Serve, after the handler has returned. The buffer of the answer is given back
// when Send has returned, because an Outbound does not keep a frame. The outcome is recorded before
// it is sent (see settled), so that a client which has the answer cannot make the call run again.
func (x *exchange) answer(ctx context.Context, result protocol.Result, err error) error {
	if earlier, ok := errors.AsType[*roundstore.Outcome](err); ok {
		return x.repeat(ctx, earlier)
	}
	if refused, ok := errors.AsType[*transport.AuthError](err); ok {
		return x.forbid(ctx, refused)
	}
	if err != nil {
		var converted *protocol.CallToolResult
		if converted = x.argumentResult(x.call, err); converted == nil {
			after, _ := protocol.RetryAfter(err)
			return x.sendErrorAfter(ctx, x.wireError(ctx, x.call, err), after)
		}
		result = converted
	}
	room := x.conn.e.buffers.Take()
	defer x.conn.e.buffers.Give(room)
	head := x.resultFrame(room.B)
	room.B, err = x.dialect.AppendResult(head, result, x.conn.e.serverInfo[x.dialect])
	if err != nil {
		return x.sendError(ctx, x.wireError(ctx, x.call, err))
	}
	x.settled(ctx, room.B[len(head):], nil)
	room.B = append(room.B, '}')
	return x.finish(ctx, transport.Frame{JSON: room.B})
}

// resultFrame appends the part of an answer that precedes its result.
func (x *exchange) resultFrame(dst []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	return append(x.id.Append(dst), `,"result":`...)
}

// repeat answers with the outcome of an earlier execution.
func (x *exchange) repeat(ctx context.Context, earlier *roundstore.Outcome) error {
	if earlier.Fault != nil {
		return x.sendError(ctx, earlier.Fault)
	}
	if lacking := x.call.unable(earlier.Result); lacking != nil {
		return x.sendError(ctx, x.fault(lacking))
	}
	return x.finish(ctx, transport.Frame{JSON: append(append(x.resultFrame(nil), earlier.Result...), '}')})
}

// unable returns a fault if the recorded result asks for something that this client has not declared.
// The client of the original request had declared it (2026-07-28 basic/patterns/mrtr: MUST NOT ask
// for it). If the result asks nothing, or the client can be asked, unable returns nil.
func (c *Call) unable(result []byte) error {
	decoded, _ := c.Dialect.DecodeResult(protocol.MethodOf(c.Params), result) // cannot fail: the engine has encoded it
	required, asks := decoded.(*protocol.InputRequiredResult)
	if !asks {
		return nil
	}
	var missing protocol.ClientCapabilities
	able := true
	for _, q := range required.Requests {
		if c.canAsk(q.Params) {
			continue
		}
		able = false
		switch p := q.Params.(type) {
		case *protocol.ElicitParams:
			missing.Elicitation, missing.ElicitURL = missing.Elicitation || p.URL == "", missing.ElicitURL || p.URL != ""
		case *protocol.CreateMessageParams:
			missing.Sampling, missing.SamplingTool = true, missing.SamplingTool || len(p.Tools) > 0
		case *protocol.ListRootsParams:
			missing.Roots = true
		}
	}
	if able {
		return nil
	}
	return &protocol.Fault{
		Kind: protocol.FaultMissingCapability, Message: "this client cannot be asked what the call asks", Required: &missing,
	}
}

// forbid answers a caller whose authorization is missing or not sufficient. An HTTP response that has
// not begun gets the status and the challenge of the refusal. The client does not see the reason.
func (x *exchange) forbid(ctx context.Context, refused *transport.AuthError) error {
	status := refused.HTTPStatus()
	wire := &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: http.StatusText(status)}
	x.settled(ctx, nil, wire)
	x.unopen()
	return x.finish(ctx, transport.Frame{
		JSON: jsonrpc.AppendError(nil, x.id, wire, false), Status: status, Challenge: refused.Challenge,
	})
}

// finish closes the call and sends answer, unless the call was abandoned. It frees the id before
// that, because the client may use the id again as soon as it has the answer.
//
// close waits for frames that goroutines of the handler are writing. After it, no other frame of
// the call can be sent, so the answer needs no lock. If finish sends nothing, its error is nil: the
// client does not wait for an answer any more.
func (x *exchange) finish(ctx context.Context, answer transport.Frame) error {
	if !x.close() {
		return nil
	}
	if x.registered {
		x.conn.unregister(x)
	}
	if x.abandoned.Load() { // after unregister, because the id may then belong to another request
		return nil
	}
	answer.Final = true
	return x.out.Send(ctx, answer)
}

// unopen removes the session if the exchange is an initialize that is answered with an error.
//
// It must be called before finish. The requests that wait for the session are released by over,
// after the answer.
func (x *exchange) unopen() {
	if x.registered && x.method == protocol.MethodInitialize {
		x.conn.unopen(x.session)
	}
}

func (x *exchange) sendError(ctx context.Context, wire *jsonrpc.Error) error {
	return x.sendErrorAfter(ctx, wire, 0)
}

// sendErrorAfter is like sendError, but the client should wait for the time after before it tries
// again.
func (x *exchange) sendErrorAfter(ctx context.Context, wire *jsonrpc.Error, after time.Duration) error {
	x.settled(ctx, nil, wire)
	x.unopen()
	nullID := x.dialect != nil && x.dialect.NullErrorID()
	status := x.status
	if wire != x.refuse {
		status = x.answerStatus(wire.Code)
	}
	return x.finish(ctx, transport.Frame{
		JSON: jsonrpc.AppendError(nil, x.id, wire, nullID), Status: status, RetryAfter: after,
	})
}

// settled records the answer of the exchange. It does not record an answer that another execution
// might not give: of a cancelled call, an internal error, a busy server (429 and 503), or a client
// without a capability.
//
// An answer that is not recorded releases the claim, and the same round may run again.
func (x *exchange) settled(ctx context.Context, result []byte, wire *jsonrpc.Error) {
	if x.record == nil { // most calls
		return
	}
	var outcome *roundstore.Outcome
	switch {
	case result != nil:
		outcome = &roundstore.Outcome{Result: result}
	case wire.Code != jsonrpc.CodeInternal && wire.Code != http.StatusServiceUnavailable && dialect.HTTPStatus(wire.Code) == http.StatusOK:
		outcome = &roundstore.Outcome{Fault: wire}
	}
	x.settle(ctx, outcome)
}

// settle records the outcome of the round. If outcome is nil, it releases the claim of the round.
//
// Only the goroutine of Serve calls it. Call.Begin has written x.record before that, in the handler.
// settle takes the record out of x, so further calls do nothing.
func (x *exchange) settle(ctx context.Context, outcome *roundstore.Outcome) {
	r := x.record
	if r == nil {
		return
	}
	x.record = nil
	if err := r.Settle(ctx, x.outlive(ctx), outcome); err != nil {
		x.conn.e.failed(ctx, x.call, err)
	}
}

// refuseBy makes the fault the only answer, with its HTTP status.
func (x *exchange) refuseBy(fault *protocol.Fault) {
	x.refuse = x.fault(fault)
	x.status = x.refusalStatus()
}

// refusalStatus returns the HTTP status of a fault that was found before user code ran. In a session,
// errors are sent with 200, because 404 would end the session.
func (x *exchange) refusalStatus() int {
	switch {
	case x.status != 0:
		return x.status
	case x.session != nil:
		return http.StatusOK
	case x.dialect != nil && x.dialect.StatusByCode():
		if status := dialect.HTTPStatus(x.refuse.Code); status != http.StatusOK {
			return status
		}
	}
	return http.StatusBadRequest
}

// answerStatus returns the HTTP status of an error that a handler caused.
func (x *exchange) answerStatus(code int) int {
	if x.dialect == nil || !x.dialect.StatusByCode() {
		return http.StatusOK
	}
	return dialect.HTTPStatus(code)
}
