package engine

import (
	"context"
	"errors"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/roundstore"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/storeerror"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/rounds"
)

// Question is a question that a handler asks the client: elicitation, sampling or roots.
type Question struct {
	// Key identifies the question within the call. If it is empty, the position of the question is
	// used. The same question must have the same key in each round.
	Key      string
	Params   protocol.Params
	Progress func(protocol.Progress) // called only if the client is asked live; may be nil
}

// Reply is the result of a Question.
type Reply struct {
	Result protocol.Result
	Err    error
}

// ask sends a request of the server to the client, on the stream of this call, and waits for the
// answer: elicitation, sampling, roots, ping. The wait ends with ctx, with the connection, or when
// Config.AskTimeout has passed since the last sign of progress. ask then sends
// notifications/cancelled. It returns ErrCannotAsk, the client's *protocol.Error or *protocol.Fault,
// or the reason for the end of the wait.
//
// t is the position of the request among several, and may be nil. If ask does not send, the caller
// must still call t.Pass, which wait.InOrder does.
func (c *Call) ask(ctx context.Context, q Question, t *wait.Order) (protocol.Result, error) {
	if !c.Dialect.ServerRequests() || !c.canAsk(q.Params) {
		return nil, ErrCannotAsk
	}
	return c.out.ask(ctx, q.Params, q.Progress, t)
}

// Questions asks the client all questions at once, in their order, and returns their replies. If the
// client can be asked live, Questions sends them on the stream of this call and waits for the answers.
//
// On 2026-07-28, and in tasks, answers come from the journal of the call. If an answer is missing,
// the error of the reply is ErrPending: the question is registered, the context of the handler has
// ended, and the handler will run again with the answer.
func (c *Call) Questions(ctx context.Context, all ...Question) []Reply {
	if c.Replays() {
		if err := c.Begin(ctx); err != nil {
			return failedReplies(len(all), err)
		}
		if c.returned.Load() {
			return failedReplies(len(all), ErrCannotAsk)
		}
		if c.Crashed() || c.detached.Load() {
			return failedReplies(len(all), ErrPending)
		}
		return c.newRound(&rounds.Journal{Call: c.ID()}).questions(all)
	}
	replies := make([]Reply, len(all))
	wait.InOrder(len(all), func(i int, t *wait.Order) {
		replies[i].Result, replies[i].Err = c.ask(ctx, all[i], t)
	})
	return replies
}

// failedReplies returns n replies with the same error.
func failedReplies(n int, err error) []Reply {
	replies := make([]Reply, n)
	for i := range replies {
		replies[i].Err = err
	}
	return replies
}

// Begin must be called before the handler's own work begins, after all checks that may refuse the
// call. It claims the round, so that a round is not executed twice. If the round was executed before,
// Begin returns ErrPending, and the recorded outcome is the answer. It also returns ErrPending if the
// store is unavailable. Any other error refuses the call.
func (c *Call) Begin(ctx context.Context) error {
	r := c.resumed
	if r == nil || c.silent {
		return nil
	}
	r.begun.Do(func() {
		err := r.claim(ctx)
		earlier, executed := errors.AsType[*roundstore.Outcome](err)
		_, away := errors.AsType[*storeerror.Error](err)
		switch {
		case executed:
			r.earlier.Store(earlier)
			r.refusal = ErrPending
		case away:
			c.crashed.CompareAndSwap(nil, &err)
			r.refusal = ErrPending
		default:
			r.refusal = err
		}
	})
	return r.refusal
}

// Pending reports whether the result of the handler is ignored. It is if a question is pending, the
// call was detached, the outcome of an earlier execution is the answer, or another worker has the
// task. It also is if Config.Performed or an unavailable store ended the execution.
func (c *Call) Pending() bool {
	r := c.round.Load()
	return r != nil && r.pending() || c.Crashed() || c.resumed.outcome() != nil || c.detached.Load() || c.out != nil && c.out.lost()
}

// Crashed reports whether Config.Performed or an unavailable store ended the execution. The answer
// is then an error.
func (c *Call) Crashed() bool { return c.crashed.Load() != nil }

// Detach makes the call a task, if it may become one and is not one yet. It then returns ErrPending:
// the handler must return now, and will run again in the task, with the same answers and effects.
// Otherwise Detach does nothing and returns nil. If a question is pending, it also returns
// ErrPending, without a task.
func (c *Call) Detach() error {
	if !c.detachable {
		return nil
	}
	if r := c.round.Load(); r != nil && r.pending() {
		return ErrPending
	}
	c.detached.Store(true)
	c.out.end(ErrPending)
	return ErrPending
}
