package engine

import (
	"context"
	"errors"
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
	watches := &x.conn.e.watches
	watches.Watch(id)
	defer watches.Unwatch(id)
	for missed := 0; ; {
		changed := watches.Next(id) // before the record is read, so that no change is missed
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
			if asked, err := x.inquire(ctx, &r); err != nil {
				return nil, err
			} else if asked {
				continue
			}
		}
		if err := x.untilChange(ctx, &r, changed); err != nil {
			return nil, err
		}
	}
}

// untilChange waits until the task may have changed: for changed or, if another process may change
// the task, at most for its poll interval. If the task waits for its client, Shutdown ends the wait,
// because it could delay the end of the server without limit.
func (x *exchange) untilChange(ctx context.Context, r *task.Record, changed <-chan struct{}) error {
	e := x.conn.e
	var closed <-chan struct{}
	if r.Status == protocol.TaskInputRequired {
		closed = e.running.Closing()
	}
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
		return protocol.Faultf(protocol.FaultInternal, "the server is shutting down")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// inquire asks the client the open questions that it can answer and that no other request here has
// asked. It returns false if there are none. If they cannot be asked, it returns an error. While they
// are open, a second goroutine watches the task, and withdraws them when the task has ended.
//
// Each question that Claim returns is released once, by stillOpen or by inquireOne. The watching
// goroutine has ended when inquire returns.
func (x *exchange) inquire(ctx context.Context, r *task.Record) (bool, error) {
	if x.conn.e.stopped.Load() {
		return false, ErrShutdown
	}
	claimed := x.conn.e.watches.Claim(r.ID, x.askable(r.Questions))
	if len(claimed) == 0 {
		return false, nil
	}
	mine := x.stillOpen(ctx, r.ID, claimed)
	if len(mine) == 0 { // all are answered: the caller reads the task again
		return true, nil
	}
	until, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { x.untilOver(until, r.ID, stop) })
	errs := make([]error, len(mine))
	wait.InOrder(len(mine), func(i int, t *wait.Order) { errs[i] = x.inquireOne(until, r.ID, mine[i], t) })
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
func (x *exchange) stillOpen(ctx context.Context, id string, claimed []task.Question) []task.Question {
	r, err := x.task(ctx, id)
	return slices.DeleteFunc(claimed, func(q task.Question) bool {
		answered := err != nil || !slices.ContainsFunc(r.Questions, func(open task.Question) bool { return open.Key == q.Key })
		if answered {
			x.conn.e.watches.Release(id, q.Key)
		}
		return answered
	})
}

// untilOver calls stop, which withdraws the questions, when the task has ended or the server stops.
// It returns after that, or when ctx ends.
func (x *exchange) untilOver(ctx context.Context, id string, stop func()) {
	for {
		changed := x.conn.e.watches.Next(id)
		r, err := x.task(ctx, id)
		if ctx.Err() != nil {
			return
		}
		_, fault := errors.AsType[*protocol.Fault](err) // for example, the task does not exist
		if x.conn.e.stopped.Load() || fault || err == nil && r.Terminal() {
			stop()
			return
		}
		if err := x.untilChange(ctx, &task.Record{ID: id, PollInterval: r.PollInterval}, changed); err != nil {
			return
		}
	}
}

// inquireOne asks the client one question and stores the answer in the task, even if it is an error.
//
// It releases the claim in any case, also if the client could not be asked. The answer is stored
// without the cancellation of the request, because the client will not send it again.
func (x *exchange) inquireOne(ctx context.Context, id string, q task.Question, t *wait.Order) error {
	defer x.conn.e.watches.Release(id, q.Key)
	_, params, err := taskrecord.ReadQuestion(q, x.dialect)
	if err != nil {
		return err
	}
	msg, err := x.put(ctx, params, &protocol.RequestMeta{RelatedTask: id}, nil, t)
	var answer []byte
	switch {
	case errors.Is(err, ErrNoAnswer):
		msg.Error = &jsonrpc.Error{Code: protocol.CodeInternal, Message: "the client did not answer in time"}
		fallthrough
	case err == nil && msg.Kind == jsonrpc.Failure:
		answer = taskrecord.RefusedAnswer(msg.Error)
	case err != nil:
		return err // the next request that waits for the task asks again
	default:
		answer = jsontext.Compact(nil, msg.Result)
	}
	return x.conn.e.answerTask(context.WithoutCancel(ctx), id, map[string][]byte{q.Key: answer})
}
