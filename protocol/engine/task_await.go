package engine

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/storeerror"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/taskrecord"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// maxMissed is how often in a row reading the task may fail, while the store is unavailable, before a
// wait for the task ends with that error.
const maxMissed = 10

// awaitTask waits until the task has ended, and answers like the original call (2025-11-25
// basic/utilities/tasks). Meanwhile it asks the client the task's questions, on its own stream.
// Cancelling this request does not affect the task.
//
// The task is watched from before the first read until the return. Only in between may Next, Claim
// and Release be called for it.
func (x *exchange) awaitTask(ctx context.Context, id string) (protocol.Result, error) {
	e := x.conn.e
	turn := e.watches.Watch(id)
	defer e.watches.Unwatch(id)
	result, err := x.awaitOutcome(ctx, id, turn)
	if errors.Is(err, ErrShutdown) && e.shares() {
		return nil, goesOn("the server is shutting down")
	}
	return result, err
}

// awaitOutcome is awaitTask for a task that is watched. turn is the number of the wait.
func (x *exchange) awaitOutcome(ctx context.Context, id string, turn int) (protocol.Result, error) {
	e := x.conn.e
	for missed := 0; ; {
		changed := e.watches.Next(id) // before the record is read, so that no change is missed
		here := e.job(id) != nil      // before, too: the end of the job then is a change
		r, err := x.task(ctx, id)
		if _, gone := errors.AsType[*storeerror.Error](err); gone && missed < maxMissed && wait.Pause(ctx, lookPause) == nil {
			missed++
			continue // the wait goes on, because the task does
		}
		if err != nil {
			return nil, err
		}
		missed = 0
		if r.Terminal() {
			return taskrecord.Outcome(&r, x.dialect)
		}
		if r.Status == protocol.TaskInputRequired {
			if asked, err := x.inquire(ctx, &r, turn); err != nil {
				return nil, err
			} else if asked {
				continue
			}
		}
		var closed <-chan struct{} // Shutdown waits for a task that runs here, and for no other
		if r.Status == protocol.TaskInputRequired || !here {
			closed = e.running.Closing()
		}
		if err := x.untilChange(ctx, &r, changed, closed); err != nil {
			return nil, err
		}
	}
}

// untilChange waits until the task may have changed: for changed or, if another process may change
// the task, at most for its poll interval. closed ends the wait with ErrShutdown.
func (x *exchange) untilChange(ctx context.Context, r *task.Record, changed, closed <-chan struct{}) error {
	e := x.conn.e
	var look <-chan time.Time
	if e.shares() || e.job(r.ID) == nil {
		timer := time.NewTimer(max(r.PollInterval, checkPause))
		defer timer.Stop()
		look = timer.C
	}
	select {
	case <-changed:
	case <-look:
	case <-closed:
		return ErrShutdown
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// inquire asks the client the open questions that it can answer and that no later request here is
// asking. It returns false if there are none. If they cannot be asked, it returns an error. While they
// are open, a second goroutine watches the task, and withdraws them when they have been answered
// elsewhere or the task has ended. A later request here that asks them withdraws them, too.
//
// Each question that Claim returns is released once, by stillOpen or by inquire. The watching
// goroutine has ended when inquire returns.
func (x *exchange) inquire(ctx context.Context, r *task.Record, turn int) (bool, error) {
	if x.conn.e.stopped.Load() {
		return false, ErrShutdown
	}
	until, stop := context.WithCancel(ctx)
	defer stop()
	claimed := x.conn.e.watches.Claim(r.ID, turn, x.askable(r.Questions), stop)
	if len(claimed) == 0 {
		return false, nil
	}
	mine := x.stillOpen(ctx, r.ID, turn, claimed)
	if len(mine) == 0 { // all are answered: the caller reads the task again
		return true, nil
	}
	var watching sync.WaitGroup
	watching.Go(func() { x.untilOver(until, r.ID, mine, stop) })
	errs := make([]error, len(mine))
	wait.InOrder(len(mine), func(i int, t *wait.Order) {
		defer x.conn.e.watches.Release(r.ID, turn, mine[i].Key)
		errs[i] = x.inquireOne(until, r.ID, mine[i], t)
	})
	over := until.Err() != nil && ctx.Err() == nil
	stop()
	watching.Wait()
	if over { // the caller reads the task again
		return true, nil
	}
	return true, errors.Join(errs...)
}

// askable returns the questions that this client has declared to answer and that its revision can
// express. It may not be the client that made the call. Other questions wait for that client.
func (x *exchange) askable(questions []task.Question) []task.Question {
	return slices.DeleteFunc(slices.Clone(questions), func(q task.Question) bool {
		_, params, err := taskrecord.ReadQuestion(q, x.dialect)
		return err != nil || !x.call.canAsk(params)
	})
}

// stillOpen returns the claimed questions that were not answered between reading the record and
// claiming them. It releases the claims of the other questions. If the task cannot be read, it
// releases all claims.
func (x *exchange) stillOpen(ctx context.Context, id string, turn int, claimed []task.Question) []task.Question {
	r, err := x.task(ctx, id)
	return slices.DeleteFunc(claimed, func(q task.Question) bool {
		answered := err != nil || !isOpen(&r, q)
		if answered {
			x.conn.e.watches.Release(id, turn, q.Key)
		}
		return answered
	})
}

// isOpen reports whether the task waits for the answer to q.
func isOpen(r *task.Record, q task.Question) bool {
	return slices.ContainsFunc(r.Questions, func(open task.Question) bool { return open.Key == q.Key })
}

// untilOver calls stop, which withdraws the questions, when all of them have been answered, the task
// has ended, or the server stops. It returns after that, or when ctx ends.
func (x *exchange) untilOver(ctx context.Context, id string, asked []task.Question, stop func()) {
	for {
		changed := x.conn.e.watches.Next(id)
		r, err := x.task(ctx, id)
		if ctx.Err() != nil {
			return
		}
		_, fault := errors.AsType[*protocol.Fault](err) // for example, the task does not exist
		over := err == nil && !slices.ContainsFunc(asked, func(q task.Question) bool { return isOpen(&r, q) })
		if over || x.conn.e.stopped.Load() || fault {
			stop()
			return
		}
		if err := x.untilChange(ctx, &task.Record{ID: id, PollInterval: r.PollInterval}, changed, nil); err != nil {
			return
		}
	}
}

// inquireOne asks the client one question and stores the answer in the task, even if it is an error. If
// it returns an error, the question stays open, and the next request that waits for the task asks it
// again.
//
// The answer is stored without the cancellation of the request, because the client will not send it
// again.
func (x *exchange) inquireOne(ctx context.Context, id string, q task.Question, t *wait.Order) error {
	_, params, err := taskrecord.ReadQuestion(q, x.dialect)
	if err != nil {
		return err
	}
	msg, err := x.put(ctx, params, &protocol.RequestMeta{RelatedTask: id}, nil, t)
	var answer []byte
	switch {
	case errors.Is(err, ErrNoAnswer):
		return goesOn("the client did not answer in time")
	case err != nil:
		return err
	case msg.Kind == jsonrpc.Failure:
		answer = taskrecord.RefusedAnswer(msg.Error)
	default:
		answer = jsontext.Compact(nil, msg.Result)
	}
	return x.conn.e.answerTask(context.WithoutCancel(ctx), id, map[string][]byte{q.Key: answer})
}

// goesOn returns the error of a wait that ends before its task. A client may take other errors of this
// request for the outcome of the task, which is sent in the same form.
func goesOn(reason string) error {
	return &protocol.Error{
		Code: http.StatusServiceUnavailable, Data: protocol.Retry{After: time.Second},
		Message: reason + "; the task goes on: send tasks/result again",
	}
}
