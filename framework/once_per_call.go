package framework

import (
	"context"
	"errors"
	"strconv"

	"github.com/kagami-mcp/kagami/protocol/engine"
)

// reserved begins the framework's own keys in the journal. Once refuses keys of the program that
// contain it.
const reserved = "\x00"

// onceStep identifies a step of OncePerCall. While next runs, callCtx.onceStep points to the innermost
// step that has called it. The values are made with the chain, so storing one does not allocate.
type onceStep struct {
	key   string    // key in the journal
	outer *onceStep // the next outer step of OncePerCall, or nil
}

var errNotPassed = errors.New("the step has not called next")

// done reports whether the step has called next in an earlier round. The step must then not run
// again.
func (p *onceStep) done(ctx context.Context) bool {
	h := callCtxFrom(ctx)
	if h == nil || h.call == nil || h.call.Round == 0 {
		return false
	}
	raw, err := h.call.Once(ctx, h.fullKey(p.key), func(context.Context) ([]byte, error) { return nil, errNotPassed })
	if err != nil {
		return false
	}
	round, err := strconv.Atoi(string(raw))
	return err == nil && round < h.call.Round // a repetition of the same round does not count
}

// then wraps next, and records that the step has called it.
func (p *onceStep) then(next Handler) Handler {
	return func(ctx context.Context, call *Call) (*Result, error) {
		h := callCtxFrom(ctx)
		if h == nil {
			return next(ctx, call)
		}
		before := h.passed.Swap(p)
		defer h.passed.Store(before) // a question that the step asks after next is not asked inside it
		return next(ctx, call)
	}
}

// keepPassed is called before the client is asked. It journals the steps of OncePerCall that have
// called next, so that they do not run again in the next round. If a question is already pending,
// it does not journal anything, because the step itself may have asked that question. Calls with a
// handler that does not run again do not need the record.
func keepPassed(ctx context.Context) error {
	for h := callCtxFrom(ctx); h != nil && h.call.Replays(); h = h.outer() {
		for p := h.passed.Load(); p != nil; p = p.outer {
			_, err := h.call.Once(ctx, h.fullKey(p.key), func(context.Context) ([]byte, error) {
				return strconv.AppendInt(nil, int64(h.call.Round), 10), nil
			})
			if err != nil && !errors.Is(err, engine.ErrPending) {
				return err
			}
		}
	}
	return nil
}
