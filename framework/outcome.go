package framework

import (
	"cmp"
	"context"
	"errors"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
)

// Outcome is the result of a call in one word, for logs, metrics and audits. There are few
// outcomes, so they can be values of a metric attribute.
type Outcome string

// The outcomes. OutcomePending is not final: the logical call continues in another round or as a
// task, its task runs again because a process stops, or the execution was only a replay check
// (WithReplayCheck).
const (
	OutcomePending     Outcome = "pending"
	OutcomeOK          Outcome = "ok"
	OutcomeToolError   Outcome = "tool_error"        // an isError result, or the error that becomes one
	OutcomeInvalid     Outcome = "invalid_arguments" // the caller's arguments or parameters are invalid
	OutcomeNotFound    Outcome = "not_found"
	OutcomeDeclined    Outcome = "declined" // the user declined or cancelled the question
	OutcomeDenied      Outcome = "denied"   // the caller lacks scopes of the component
	OutcomeLimited     Outcome = "limited"  // a limit was reached: protocol.TooMany
	OutcomeRejected    Outcome = "rejected" // another JSON-RPC error from middleware or a handler
	OutcomeUnsupported Outcome = "unsupported"
	OutcomeTimeout     Outcome = "timeout"
	OutcomeCancelled   Outcome = "cancelled"
	OutcomeFailed      Outcome = "failed" // an internal error or a panic
)

// OutcomeOf classifies the result and the error that a step got from next, as the client will see
// them. Each call of OutcomeOf calls the mapper of WithErrorMapper. A nil result without an error
// is OutcomeFailed.
func OutcomeOf(ctx context.Context, result *Result, err error) Outcome {
	h := callCtxFrom(ctx)
	called := h != nil && h.call != nil
	switch {
	case called && h.call.Crashed():
		return OutcomeFailed
	case errors.Is(err, ErrPending) || called && (h.call.Pending() || h.call.InReplayCheck()):
		return OutcomePending
	case err == nil && result != nil && !isFailure(result):
		return OutcomeOK
	case called && errors.Is(context.Cause(ctx), engine.ErrShutdown) && h.call.WillRetry():
		return OutcomePending
	case err != nil:
		return outcomeOfError(ctx, h, err)
	case result == nil:
		return OutcomeFailed
	}
	return OutcomeToolError
}

func isFailure(result *Result) bool {
	tool, ok := result.Body.(*protocol.CallToolResult)
	return ok && tool != nil && tool.IsError
}

func outcomeOfError(ctx context.Context, h *callCtx, err error) Outcome {
	if _, denied := errors.AsType[*deniedError](err); denied { // the mapper is not called for a deniedError
		return OutcomeDenied
	}
	if h != nil && h.server != nil {
		err = h.server.mapError(ctx, err)
	}
	v := classify(err)
	switch v.class {
	case classUser:
		return outcomeOfUser(err)
	case classVisit:
		return OutcomeToolError
	case classNotFound:
		return OutcomeNotFound
	case classArguments:
		return OutcomeInvalid
	case classMissing:
		return OutcomeUnsupported
	case classProtocol:
		return outcomeOfWire(v.wire)
	case classCancelled:
		if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errTimeout) {
			return OutcomeCancelled
		}
	case classInternal:
	}
	switch {
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), errTimeout):
		return OutcomeTimeout
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)), abandoned(ctx, err):
		return OutcomeCancelled
	case h != nil && h.call != nil && h.call.WillRetry():
		return OutcomePending
	}
	return OutcomeFailed
}

func outcomeOfUser(err error) Outcome {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return OutcomeTimeout
	case errors.Is(err, ErrDeclined), errors.Is(err, ErrCancelled):
		return OutcomeDeclined
	}
	return OutcomeToolError
}

func outcomeOfWire(err error) Outcome {
	var known Outcome
	if fault, ok := errors.AsType[*protocol.Fault](err); ok {
		known = outcomeOfFault[fault.Kind]
	} else if plain, ok := errors.AsType[*protocol.Error](err); ok {
		known = outcomeOfCode[plain.Code]
	}
	return cmp.Or(known, OutcomeRejected)
}

var (
	outcomeOfFault = map[protocol.FaultKind]Outcome{
		protocol.FaultInvalidParams: OutcomeInvalid, protocol.FaultInvalidArguments: OutcomeInvalid, protocol.FaultResourceNotFound: OutcomeNotFound,
		protocol.FaultMissingCapability: OutcomeUnsupported, protocol.FaultInternal: OutcomeFailed,
	}
	outcomeOfCode = map[int]Outcome{
		protocol.CodeTooMany: OutcomeLimited, protocol.CodeInvalidParams: OutcomeInvalid, protocol.CodeInternal: OutcomeFailed,
	}
)
