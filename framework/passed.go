package framework

import (
	"context"
	"errors"
	"strconv"

	"github.com/kagami-mcp/kagami/protocol/engine"
)

// reserved begins the framework's own keys in the journal. Once refuses it in those
// of the user.
const reserved = "\x00"

// passed is a step of OncePerCall that has called next, and those further out that
// had. The list belongs to the chain: to know where a call is costs nothing.
type passed struct {
	key   string // in the journal
	outer *passed
}

var errNotPassed = errors.New("the step has not called next")

// done says whether an earlier round came past the step. One in which the step
// asked, or answered itself, did not.
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
	return err == nil && round < h.call.Round // not where this round runs again
}

// then is next, behind the step.
func (p *passed) then(next Handler) Handler {
	return func(ctx context.Context, call *Call) (*Result, error) {
		h := handlingFrom(ctx)
		if h == nil {
			return next(ctx, call)
		}
		before := h.passed.Swap(p)
		defer h.passed.Store(before) // what the step asks after next is not behind it
		return next(ctx, call)
	}
}

// keepPassed records the steps that the asker is behind, before it asks the client.
// Where a question is pending already nothing is recorded, for the step may be the
// one that asked. Calls that do not ask in rounds need no record.
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
