package framework

import (
	"context"
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/protocol/engine"
)

// reserved begins the framework's own keys in the journal. Once refuses keys of the program that
// contain it.
const reserved = "\x00"

// onceStep is the key of a OncePerCall step in the journal. For other steps it is "".
type onceStep string

// activeStep is a OncePerCall step that has called next. While next runs, callCtx.passed points to
// the innermost such step.
type activeStep struct {
	step  onceStep
	asked int32       // questions without a key that the call had asked before
	outer *activeStep // the next outer step of OncePerCall, or nil
}

var errNotPassed = errors.New("the step has not called next")

// done reports whether the step called next in an earlier round. If so, the step must not run
// again. done then also counts the step's questions without a key, because the numbers of later
// questions depend on them.
func (p onceStep) done(ctx context.Context) bool {
	h := callCtxFrom(ctx)
	if h == nil || h.call == nil || h.call.Round == 0 {
		return false
	}
	raw, err := h.call.Once(ctx, h.fullKey(string(p)), func(context.Context) ([]byte, error) { return nil, errNotPassed })
	if err != nil {
		return false
	}
	var round int
	var asked int32
	n, _ := fmt.Sscan(string(raw), &round, &asked) // journals of older versions have no second number
	if n == 0 || round >= h.call.Round {
		return false // next was called in this round, which now runs again
	}
	h.asked.Store(max(h.asked.Load(), asked))
	return true
}

// then wraps next, and records that the step has called it.
func (p onceStep) then(next Handler) Handler {
	return func(ctx context.Context, call *Call) (*Result, error) {
		h := callCtxFrom(ctx)
		if h == nil {
			return next(ctx, call)
		}
		before := h.passed.Load()
		h.passed.Store(&activeStep{step: p, asked: h.asked.Load(), outer: before})
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
			_, err := h.call.Once(ctx, h.fullKey(string(p.step)), func(context.Context) ([]byte, error) {
				return fmt.Append(nil, h.call.Round, p.asked), nil
			})
			if err != nil && !errors.Is(err, engine.ErrPending) {
				return err
			}
		}
	}
	return nil
}
