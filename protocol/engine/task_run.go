package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
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
	c := j.newCall(params, journal, r.Runs, cancel)
	c.Meta = meta
	ctx = context.WithValue(ctx, callKey{}, c)
	defer func() { // the handler may end its goroutine
		if !c.returned.Load() {
			j.fail(ctx, c.run.began, &PanicError{Value: errGoexit})
		}
	}()
	result, err := guarded(ctx, j.h, c)
	c.returned.Store(true)
	asks := c.round.Load().end()
	if asks {
		c.effects().Finish()
	}
	if asks && j.e.cfg.ReplayCheck && j.ctx.Err() == nil {
		c.x.checkReplay(context.WithoutCancel(ctx), j.h, c.round.Load())
	}
	switch cause := context.Cause(j.ctx); {
	case cause != nil && (!errors.Is(cause, ErrShutdown) || err != nil || asks):
		return false // the task has ended, or will run again after a restart
	case asks:
		j.ask(ctx, c, err)
		return false
	}
	return j.settle(ctx, c, result, err)
}

// newCall makes the call that the task's handler gets. The request has been answered, so the exchange
// of the call is closed. Effects of the handler go to the execution; see outlet.
func (j *job) newCall(params protocol.Params, journal *rounds.Journal, runs int, cancel context.CancelCauseFunc) *Call {
	x := &exchange{
		conn: j.connection(), id: j.request, method: protocol.MethodCallTool, dialect: j.dialect, session: j.session,
		snapshot: j.snapshot, closed: true,
	}
	journal.Effects = j.takeUpProgress(journal.Effects)
	c := &Call{Params: params, Dialect: j.dialect, Round: journal.Round, x: x, run: &execution{job: j, cancel: cancel, began: runs}, id: journal.Call}
	c.effects().Restore(journal.Effects)
	journal.Open = nil
	c.newRound(journal)
	x.call = c
	return c
}

// settle records the outcome of the handler. It returns true if the handler must run again.
func (j *job) settle(ctx context.Context, c *Call, result protocol.Result, err error) (again bool) {
	if err == nil {
		j.complete(ctx, c, result)
		return false
	}
	if converted := c.x.argumentResult(err); converted != nil {
		j.complete(ctx, c, converted)
		return false
	}
	if c.x.fault(err) == nil && c.WillRetry() {
		return j.retry(ctx, c, err)
	}
	j.fail(ctx, c.run.began, err)
	return false
}

// complete ends the task with a result. A result with isError is a failure on 2025-11-25. In the
// extension it completes the task (SEP-2663).
func (j *job) complete(ctx context.Context, c *Call, result protocol.Result) {
	text, err := j.dialect.AppendResult(nil, result, nil)
	if err != nil {
		j.fail(ctx, c.run.began, err)
		return
	}
	event := task.Event{Kind: task.Complete, Result: text}
	if tool, ok := result.(*protocol.CallToolResult); ok && tool.IsError && j.dialect.CoreTasks() {
		event.Kind, event.Message = task.Fail, textOf(tool.Content)
	}
	if err := j.apply(ctx, c.run.began, event); errors.Is(err, task.ErrLimit) {
		j.fail(ctx, c.run.began, protocol.Faultf(protocol.FaultInternal, "the result is too large to be kept"))
	} else {
		j.report(ctx, err)
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
	wire := j.newCall(&protocol.CallToolParams{}, &rounds.Journal{}, runs, nil).x.wireError(ctx, err)
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
func (j *job) retry(ctx context.Context, c *Call, cause error) bool {
	j.e.failed(ctx, c, cause)
	err := j.apply(ctx, c.run.began, task.Event{Kind: task.Resume, Journal: c.journal(0).Append(nil)})
	if tooMuch(err) {
		j.fail(ctx, c.run.began, err)
		return false
	}
	if err != nil {
		j.report(ctx, err)
		return false
	}
	j.runs = c.run.began + 1
	return wait.Pause(j.ctx, min(retryPause<<min(c.run.began, 16), maxRetryPause)) == nil
}

// journal returns the call's journal with its effects and open questions. It adds rounds to the
// number of rounds.
func (c *Call) journal(rounds int) *rounds.Journal {
	r := c.round.Load()
	r.mu.Lock()
	defer r.mu.Unlock()
	j := r.journal.Clone()
	j.Effects, j.Open, j.Round = c.effects().All(), r.open, j.Round+rounds
	if c.run != nil {
		j.Effects = c.run.progressed(j.Effects)
	}
	return j
}

// ask changes the status of the task to input_required. The result of the handler is ignored.
func (j *job) ask(ctx context.Context, c *Call, returned error) {
	if panicked := (*PanicError)(nil); errors.As(returned, &panicked) {
		j.e.failed(ctx, c, returned)
	}
	journal := c.journal(1)
	if most := j.e.cfg.MaxRounds; journal.Round > most {
		j.fail(j.ctx, c.run.began, fmt.Errorf("engine: the task has asked in %d rounds", most))
		return
	}
	filed, err := taskrecord.Questions(j.dialect, c.round.Load().filed)
	if err != nil {
		j.fail(j.ctx, c.run.began, err)
		return
	}
	err = j.change(ctx, c.run.began, func(r *task.Record) task.Event {
		return task.Event{Kind: task.Ask, Questions: taskrecord.NewKeys(r, filed), Journal: journal.Append(nil)}
	})
	if tooMuch(err) || errors.Is(err, task.ErrEvent) {
		j.fail(j.ctx, c.run.began, err)
		return
	}
	j.report(j.ctx, err)
}

// keep writes the effects of Once into the record as soon as one has happened. If the store has no
// room, the handler continues: the effects are written when it asks, runs again, or performs another
// effect. If they exceed the limit of a record, the task fails and keep returns the error, because
// they could never be stored, and another worker would repeat them.
func (j *job) keep(ctx context.Context, c *Call) error {
	if !c.effects().Unkept() {
		return nil
	}
	err := j.change(ctx, c.run.began, func(*task.Record) task.Event {
		return task.Event{Kind: task.Progress, Journal: c.journal(0).Append(nil)}
	})
	if errors.Is(err, task.ErrLimit) {
		j.fail(ctx, c.run.began, err)
		return err
	}
	j.report(ctx, err)
	return nil
}
