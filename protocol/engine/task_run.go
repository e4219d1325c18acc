package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/rounds"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// work is the goroutine of a task without a queue. It runs the handler until the task has ended or
// waits for answers. The caller has added it to Engine.running.
//
// It owns the job while it runs. When run has suspended the task, an answer may start the next work
// before this one has returned. That is safe, because this one does not use the job any more.
func (j *job) work() {
	defer j.e.running.Done()
	for j.run() {
	}
}

// resume runs a task that has all its answers. With a queue it does nothing, because the store has
// put the task back into the queue. A job that still exists here belongs to the worker that asked,
// which ends soon.
//
// It counts the goroutine before it starts it. While the engine closes, the task stays as it is,
// with its answers in the record.
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
//
// One goroutine at a time runs a job. The deferred function runs last: if the handler has ended the
// goroutine, the task fails, and the deferred functions of the caller clean up.
func (j *job) run() bool {
	r, err := j.load()
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
	run := &execution{job: j, cancel: cancel, began: r.Runs, asked: len(r.Asked), noted: r.Updated}
	c := run.call(params, meta, journal)
	defer func() { // the handler may end its goroutine
		if !c.returned.Load() {
			run.fail(ctx, run.began, &PanicError{Value: errGoexit})
		}
	}()
	j.busy.Store(true)
	result, err := guarded(ctx, j.h, c)
	j.busy.Store(false)
	c.returned.Store(true)
	asks := c.round.Load().end()
	if asks {
		c.effects().Finish()
	}
	if asks && j.e.cfg.ReplayCheck && j.ctx.Err() == nil {
		c.checkReplay(context.WithoutCancel(ctx), j.h, c.round.Load())
	}
	switch cause := context.Cause(j.ctx); {
	case cause != nil && (!errors.Is(cause, ErrShutdown) || err != nil || asks || isFailure(result)):
		return false // the task has ended, or will run again elsewhere or after a restart
	case asks:
		run.suspend(ctx, c, err)
		return false
	}
	return run.settle(ctx, c, result, err)
}

// isFailure reports whether a tool has returned an error as its result. A tool that Shutdown has
// stopped may do so.
func isFailure(result protocol.Result) bool {
	tool, ok := result.(*protocol.CallToolResult)
	return ok && tool != nil && tool.IsError
}

// load reads the record. Only this process runs a task without a lease, so load waits until the store is
// available. Another worker takes a task with a lease.
func (j *job) load() (task.Record, error) {
	for delay := storePause; ; delay = min(2*delay, maxStorePause) {
		r, err := j.e.cfg.Tasks.Get(j.ctx, j.id)
		if err == nil || j.lease || decided(err) || errors.Is(err, task.ErrUnreadable) {
			return r, err
		}
		if delay == storePause {
			j.report(j.ctx, err)
		}
		if wait.Pause(j.ctx, delay) != nil {
			return r, err
		}
	}
}
