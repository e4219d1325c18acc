package framework

import (
	"context"
	"errors"
	"strconv"

	"github.com/kagami-mcp/kagami/protocol/engine"
)

// reserved begins the framework's own keys in the journal. Once refuses keys of the program
// that begin with it.
const reserved = "\x00"

// passed is a step of OncePerCall; handling.passed says that it has called next. The values are
// made with the chain, so that storing one allocates nothing.
type passed struct {
	key   string  // in the journal
	outer *passed // the next outer step of OncePerCall; nil: none
}

var errNotPassed = errors.New("the step has not called next")

// done says whether the step has called next in an earlier round, so that it must not run
// again.
func (p *passed) done(ctx context.Context) bool {
	h := handlingFrom(ctx)
	if h == nil || h.call == nil || h.call.Round == 0 {
		return false
	}
	raw, err := h.call.Once(ctx, h.fullKey(p.key), func(context.Context) ([]byte, error) { return nil, errNotPassed })
	if err != nil {
		return false
	}
	round, err := strconv.Atoi(string(raw))
	return err == nil && round < h.call.Round // not if this same round is repeated
}

// then wraps next, and records that the step has called it.
func (p *passed) then(next Handler) Handler {
	return func(ctx context.Context, call *Call) (*Result, error) {
		h := handlingFrom(ctx)
		if h == nil {
			return next(ctx, call)
		}
		before := h.passed.Swap(p)
		defer h.passed.Store(before) // what the step asks after next was not asked behind it
		return next(ctx, call)
	}
}

// keepPassed is called before the client is asked. It journals the steps of OncePerCall that
// have called next: in the next round they do not run again. Where a question is pending
// already nothing is journaled, since the step itself may have asked it. Calls that do not
// ask in rounds need no such record.
func keepPassed(ctx context.Context) error {
	for h := handlingFrom(ctx); h != nil && h.call.Dialect.InputRounds(); h = h.outer() {
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
