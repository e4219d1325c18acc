package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/replay"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/taskrecord"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/protocol/rounds"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// errLost is the error if another worker has the task.
var errLost = errors.New("engine: another worker has taken the task")

const (
	retryPause    = 100 * time.Millisecond // before the first retry; doubled for each
	maxRetryPause = 10 * time.Second
)

// work is the goroutine of a task without a queue. It runs the handler until the task has ended or
// waits for answers. The caller has added it to Engine.running.
func (j *job) work() {
	defer j.e.running.Done()
	for j.run() {
	}
}

// resume runs a task that has all its answers. With a queue it does nothing, because the store has
// put the task back into the queue. A job that still exists here belongs to the worker that asked,
// which ends soon.
func (e *Engine) resume(id string) {
	if e.cfg.Queue != nil {
		return
	}
	if j := e.job(id); j != nil && e.running.Begin() {
		go j.work()
	}
}

// run executes the handler once, from the start, with the journal. It returns true if the handler
// must run again at once.
func (j *job) run() bool {
	r, err := j.e.cfg.Tasks.Get(j.ctx, j.id)
	if err != nil || r.Status != protocol.TaskWorking {
		j.report(j.ctx, err)
		return false
	}
	if j.lease && r.Runs != j.runs { // another worker has incremented it, and only that worker may write now
		j.cancel(errLost)
		return false
	}
	journal, err := rounds.Parse(r.Journal)
	if err != nil {
		j.fail(j.ctx, r.Runs, fmt.Errorf("engine: the journal of a task: %w", err))
		return false
	}
	params, meta, err := j.read(&r)
	if err != nil {
		j.fail(j.ctx, r.Runs, err)
		return false
	}
	ctx, cancel := context.WithCancelCause(j.ctx)
	defer cancel(nil)
	run := &execution{job: j, cancel: cancel, began: r.Runs}
	c := run.call(params, meta, journal)
	ctx = context.WithValue(ctx, callKey{}, c)
	defer func() { // the handler may end its goroutine
		if !c.returned.Load() {
			run.fail(ctx, run.began, &PanicError{Value: errGoexit})
		}
	}()
	result, err := guarded(ctx, j.h, c)
	c.returned.Store(true)
	asks := c.round.Load().end()
	if asks {
		c.effects().Finish()
	}
	if asks && j.e.cfg.ReplayCheck && j.ctx.Err() == nil {
		c.checkReplay(context.WithoutCancel(ctx), j.h, c.round.Load())
	}
	switch cause := context.Cause(j.ctx); {
	case cause != nil && (!errors.Is(cause, ErrShutdown) || err != nil || asks):
		return false // the task has ended, or will run again after a restart
	case asks:
		run.suspend(ctx, c, err)
		return false
	}
	return run.settle(ctx, c, result, err)
}

// call returns the call that the handler gets.
func (r *execution) call(params protocol.Params, meta Meta, journal *rounds.Journal) *Call {
	c := &Call{
		Params: params, Dialect: r.from.dialect, Meta: meta, Round: journal.Round,
		out: r, id: journal.Call,
	}
	effects := replay.New(0)
	effects.Restore(r.takeUpProgress(journal.Effects))
	c.once.Store(effects)
	journal.Open = nil
	c.newRound(journal)
	return c
}

// settle records the outcome of the handler. It returns true if the handler must run again.
func (r *execution) settle(ctx context.Context, c *Call, result protocol.Result, err error) (again bool) {
	if err == nil {
		r.complete(ctx, c, result)
		return false
	}
	if converted := r.from.argumentResult(c, err); converted != nil {
		r.complete(ctx, c, converted)
		return false
	}
	if r.from.fault(err) == nil && r.willRetry() {
		return r.retry(ctx, c, err)
	}
	r.fail(ctx, r.began, err)
	return false
}

// complete ends the task with a result. A result with isError is a failure on 2025-11-25. In the
// extension it completes the task (SEP-2663).
func (r *execution) complete(ctx context.Context, c *Call, result protocol.Result) {
	text, err := r.from.dialect.AppendResult(nil, result, nil)
	if err != nil {
		r.fail(ctx, r.began, err)
		return
	}
	event := task.Event{Kind: task.Complete, Result: text}
	if tool, ok := result.(*protocol.CallToolResult); ok && tool.IsError && r.from.dialect.CoreTasks() {
		event.Kind, event.Message = task.Fail, textOf(tool.Content)
	}
	if err := r.apply(ctx, r.began, event); errors.Is(err, task.ErrLimit) {
		r.fail(ctx, r.began, protocol.Faultf(protocol.FaultInternal, "the result is too large to be kept"))
	} else {
		r.report(ctx, err)
	}
}

func textOf(content []protocol.Block) string {
	for _, b := range content {
		if t, ok := b.(protocol.Text); ok {
			return t.Text
		}
	}
	return ""
}

// fail ends the task with an error, in the form that the client may see. It must end the task even if
// the error is too large. Otherwise the queued task would run again, and fail with the same error.
func (j *job) fail(ctx context.Context, runs int, err error) {
	failed := j.endBy(ctx, runs, err)
	if errors.Is(failed, task.ErrLimit) {
		failed = j.endBy(ctx, runs, protocol.Faultf(protocol.FaultInternal, "the error is too large to be kept"))
	}
	j.report(ctx, failed)
}

func (j *job) endBy(ctx context.Context, runs int, err error) error {
	c := j.unstarted(runs).call(&protocol.CallToolParams{}, noMeta, &rounds.Journal{})
	wire := j.from.wireError(ctx, c, err)
	text, _ := jsontext.Member(jsonrpc.AppendError(nil, jsonrpc.ID{}, wire, true), "error")
	return j.apply(ctx, runs, task.Event{Kind: task.Fail, Error: text, Message: wire.Message})
}

// apply is like change, for an event that does not depend on the record.
func (j *job) apply(ctx context.Context, runs int, event task.Event) error {
	return j.change(ctx, runs, func(*task.Record) task.Event { return event })
}

const (
	storePause    = 250 * time.Millisecond // before the second attempt at a store that is unavailable or full; doubled for each
	maxStorePause = 8 * time.Second
	storePatience = 10 * time.Second
)

// change applies an event to the record, unless another worker has the task (errLost). The results of
// a run must not be lost because the store is unavailable or full for a moment. change therefore
// tries again, at growing intervals, for storePatience or, with a lease, as long as this worker has
// the task.
//
// A store may be full for hours. After some attempts change reports that. Only the end of a task
// waits that long, not the effects and progress of a running task.
func (j *job) change(ctx context.Context, runs int, event func(*task.Record) task.Event) error {
	ctx = context.WithoutCancel(ctx)
	begun := time.Now()
	var e task.Event
	for delay := storePause; ; delay = min(2*delay, maxStorePause) {
		_, err := j.e.change(ctx, j.id, func(r *task.Record) (task.Event, error) {
			if r.Runs != runs {
				return task.Event{}, errLost
			}
			e = event(r)
			return e, nil
		})
		if delay > storePause && decided(err) { // an earlier attempt may have succeeded without a response
			j.e.spread(j.id)
		}
		holds := j.lease && (!errors.Is(err, task.ErrFull) || e.Kind == task.Complete || e.Kind == task.Fail)
		if err == nil || decided(err) || !holds && time.Since(begun) > storePatience {
			return err
		}
		if delay == maxStorePause/2 {
			j.e.failed(ctx, nil, fmt.Errorf("engine: a task waits for the store to take what it has done: %w", err))
		}
		if wait.Pause(j.ctx, delay) != nil {
			return err
		}
	}
}

// decided reports whether another attempt would give the same error. It is false for nil, and for a
// store that is unavailable or full.
func decided(err error) bool {
	for _, of := range []error{errLost, task.ErrTerminal, task.ErrNotFound, task.ErrLimit, task.ErrEvent, task.ErrStatus, task.ErrIgnored} {
		if errors.Is(err, of) {
			return true
		}
	}
	return false
}

// tooMuch reports whether the record would exceed its limits or the room in the store.
func tooMuch(err error) bool { return errors.Is(err, task.ErrLimit) || errors.Is(err, task.ErrFull) }

// retry stores the effects of the failed run, and waits before the next run. If the effects cannot be
// stored, the task fails, because they must not happen again.
func (r *execution) retry(ctx context.Context, c *Call, cause error) bool {
	r.e.failed(ctx, c, cause)
	err := r.apply(ctx, r.began, task.Event{Kind: task.Resume, Journal: r.journal(c, 0).Append(nil)})
	if tooMuch(err) {
		r.fail(ctx, r.began, err)
		return false
	}
	if err != nil {
		r.report(ctx, err)
		return false
	}
	r.runs = r.began + 1
	return wait.Pause(r.ctx, min(retryPause<<min(r.began, 16), maxRetryPause)) == nil
}

// journal returns the call's journal with its effects and open questions. It adds rounds to the
// number of rounds.
func (c *Call) journal(rounds int) *rounds.Journal {
	r := c.round.Load()
	r.mu.Lock()
	defer r.mu.Unlock()
	j := r.journal.Clone()
	j.Effects, j.Open, j.Round = c.effects().All(), r.open, j.Round+rounds
	return j
}

// journal returns the call's journal with the last progress of the task.
func (r *execution) journal(c *Call, rounds int) *rounds.Journal {
	j := c.journal(rounds)
	j.Effects = r.progressed(j.Effects)
	return j
}

// suspend changes the status of the task to input_required. The result of the handler is ignored.
func (r *execution) suspend(ctx context.Context, c *Call, returned error) {
	if panicked := (*PanicError)(nil); errors.As(returned, &panicked) {
		r.e.failed(ctx, c, returned)
	}
	journal := r.journal(c, 1)
	if most := r.e.cfg.MaxRounds; journal.Round > most {
		r.fail(r.ctx, r.began, fmt.Errorf("engine: the task has asked in %d rounds", most))
		return
	}
	filed, err := taskrecord.Questions(r.from.dialect, c.round.Load().filed)
	if err != nil {
		r.fail(r.ctx, r.began, err)
		return
	}
	err = r.change(ctx, r.began, func(r *task.Record) task.Event {
		return task.Event{Kind: task.Ask, Questions: taskrecord.NewKeys(r, filed), Journal: journal.Append(nil)}
	})
	if tooMuch(err) || errors.Is(err, task.ErrEvent) {
		r.fail(r.ctx, r.began, err)
		return
	}
	r.report(r.ctx, err)
}

// keep writes the effects of Once into the record as soon as one has happened. If the store has no
// room, the handler continues: the effects are written when it asks, runs again, or performs another
// effect. If they exceed the limit of a record, the task fails and keep returns the error, because
// they could never be stored, and another worker would repeat them.
func (r *execution) keep(ctx context.Context, c *Call) error {
	if !c.effects().Unkept() {
		return nil
	}
	err := r.change(ctx, r.began, func(*task.Record) task.Event {
		return task.Event{Kind: task.Progress, Journal: r.journal(c, 0).Append(nil)}
	})
	if errors.Is(err, task.ErrLimit) {
		r.fail(ctx, r.began, err)
		return err
	}
	r.report(ctx, err)
	return nil
}
