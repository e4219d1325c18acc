package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/framebuf"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/replay"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/taskrecord"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/taskwatch"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/protocol/rounds"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// execution is one run of a task's handler. It is the outlet of its call.
//
// The goroutine of the task makes one for each run, and drops it when the run has ended. The
// handler's goroutines may keep it: over and Record.Runs then make its effects and notifications
// fail. reporting is taken before job.telling and job.mu, and is held during the Send, as in
// exchange. keeping is taken before job.telling and job.mu, too, and never together with reporting.
type execution struct {
	*job
	cancel context.CancelCauseFunc // of the context of the run
	began  int                     // Record.Runs when it began
	asked  int                     // how many questions the task had asked when it began
	noted  time.Time               // Record.Updated when the run began

	reporting sync.Mutex // held from the check that progress increases until it is sent
	keeping   sync.Mutex // held while effects are written into the record
}

var _ outlet = (*execution)(nil)

// unstarted returns an execution without a handler, for calls that are looked up or reported.
//
// Its end does nothing.
func (j *job) unstarted(runs int) *execution {
	return &execution{job: j, cancel: func(error) {}, began: runs}
}

// source implements outlet.
func (r *execution) source() *origin { return &r.from }

// taskID implements outlet.
func (r *execution) taskID() string { return r.id }

// willRetry implements outlet. If the process stops, run leaves an interrupted task to the next
// worker of the queue. Without a queue, the task is gone.
func (r *execution) willRetry() bool {
	if errors.Is(context.Cause(r.ctx), ErrShutdown) {
		return r.lease
	}
	return r.began < r.policy.Retries
}

// lost implements outlet.
func (r *execution) lost() bool { return errors.Is(context.Cause(r.ctx), errLost) }

// notify implements outlet. It sends the notification to the session that created the task, if there
// is one. 2026-07-28 has no such notifications, because listen streams must not carry them
// (SEP-2663).
//
// telling is read-locked during the Send. If the client does not read, the end of the task waits
// for it.
func (r *execution) notify(ctx context.Context, p protocol.Params) {
	r.telling.RLock()
	defer r.telling.RUnlock()
	if r.over || r.from.session == nil || r.ctx.Err() != nil { // another node may have ended the task
		return
	}
	_ = r.e.notifySession(ctx, r.from.session, p, &protocol.RequestMeta{RelatedTask: r.id}) // if the session is gone, the notification is dropped
}

// progress implements outlet. Progress increases over all runs of the task. On 2026-07-28 the message
// of a report becomes the message of the task's status.
func (r *execution) progress(ctx context.Context, token jsonrpc.ID, done, total float64, message string) {
	if r.from.dialect.TaskExtension() {
		if message != "" {
			r.setMessage(ctx, message)
		}
		return
	}
	r.reporting.Lock()
	defer r.reporting.Unlock()
	if token.IsZero() || !finite(done) || !r.advance(done) {
		return
	}
	p := &protocol.ProgressParams{Token: token, Done: done, Message: message}
	if !math.IsNaN(total) {
		p.Total = &total
	}
	r.notify(ctx, p)
}

// setMessage makes the message of a progress report the status message of the task.
func (r *execution) setMessage(ctx context.Context, message string) {
	_, err := r.e.change(ctx, r.id, func(record *task.Record) (task.Event, error) {
		if record.Runs != r.began {
			return task.Event{}, errLost
		}
		return task.Event{Kind: task.Progress, Message: message}, nil
	})
	r.report(ctx, err)
}

// advance records progress over all runs. It returns false if done is not an increase.
func (j *job) advance(done float64) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.progress != nil && done <= *j.progress {
		return false
	}
	j.progress = &done
	return true
}

// progressKey is the key of the effect in a task's journal whose value is the last reported progress.
// The next run may be on another node, and must not report less (2025-11-25 basic/utilities/progress
// "MUST increase"). Keys of Once never begin with it.
const progressKey = "\x00progress"

// progressed returns effects with the last progress added, for the journal.
func (j *job) progressed(effects []rounds.Effect) []rounds.Effect {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.progress == nil {
		return effects
	}
	return append(slices.Clip(effects), rounds.Effect{Key: progressKey, Value: strconv.AppendFloat(nil, *j.progress, 'g', -1, 64)})
}

// takeUpProgress restores the progress of the previous run from its effects, and returns the other
// effects.
func (j *job) takeUpProgress(effects []rounds.Effect) []rounds.Effect {
	i := slices.IndexFunc(effects, func(e rounds.Effect) bool { return e.Key == progressKey })
	if i < 0 {
		return effects
	}
	if done, err := strconv.ParseFloat(string(effects[i].Value), 64); err == nil {
		j.advance(done)
	}
	return slices.Delete(effects, i, i+1)
}

// ask implements outlet. A task asks only in its record; see Call.Questions.
func (r *execution) ask(context.Context, protocol.Params, func(protocol.Progress), *wait.Order) (protocol.Result, error) {
	return nil, ErrCannotAsk
}

// once implements outlet. The effect is in the record of the task before the handler continues.
//
// Several goroutines of the handler may call it. It holds no lock while the effect runs.
func (r *execution) once(ctx context.Context, c *Call, key string, effect func(context.Context) ([]byte, error)) ([]byte, error) {
	if err := r.own(); err != nil {
		return nil, err
	}
	value, err := c.effects().Run(ctx, key, effect, c.Pending)
	if err == nil && !c.silent {
		err = r.keep(ctx, c)
	}
	return value, err
}

// lend implements outlet. The result of a task is kept, and not sent.
func (r *execution) lend(*Call) *framebuf.Buffer { return nil }

// end implements outlet.
func (r *execution) end(cause error) { r.cancel(cause) }

const (
	retryPause    = 100 * time.Millisecond // before the first retry; doubled for each
	refusedPause  = time.Second            // the least after a refusal
	maxRetryPause = 10 * time.Second
)

// call returns the call that the handler gets.
//
// journal belongs to the call from then on.
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
//
// Only the goroutine of the task calls it, after the handler has returned.
func (r *execution) settle(ctx context.Context, c *Call, result protocol.Result, err error) (again bool) {
	defer func() { // a method of a value in the result or the error, such as MarshalJSON, may panic
		v := recover()
		if v == nil {
			return
		}
		panicked := &PanicError{Value: v, Stack: debug.Stack()}
		if r.willRetry() {
			again = r.retry(ctx, c, panicked)
			return
		}
		r.fail(ctx, r.began, panicked)
	}()
	if err == nil {
		r.complete(ctx, c, result)
		return false
	}
	if converted := r.from.argumentResult(c, err); converted != nil {
		r.complete(ctx, c, converted)
		return false
	}
	if after, refused := refusal(err); refused {
		return r.postpone(ctx, c, after)
	}
	if r.from.fault(err) == nil && r.willRetry() {
		return r.retry(ctx, c, err)
	}
	r.fail(ctx, r.began, err)
	return false
}

// refusal returns the time of an error that refuses the call for now (protocol.TooMany), such as the
// error of a rate limit. It returns false for other errors, and for errors that come from another server.
func refusal(err error) (after time.Duration, refused bool) {
	e, ok := errors.AsType[*protocol.Error](err)
	if !ok || e.Code != protocol.CodeTooMany {
		return 0, false
	}
	again, refused := e.Data.(protocol.Retry)
	return again.After, refused
}

// postpone lets a task that was refused for now wait, without counting the run. With a queue, the
// task goes back to the end of the queue after a pause, so that it does not occupy a worker for
// long. postpone also updates the record from time to time, so that a process without the tool sees
// that others run the task.
func (r *execution) postpone(ctx context.Context, c *Call, after time.Duration) (again bool) {
	journal := r.journal(c, 0)
	if len(journal.Effects) > 0 || r.lease && r.e.cfg.Now().Sub(r.noted) > taskwatch.Patience/2 { // as in retry
		err := r.apply(ctx, r.began, task.Event{Kind: task.Progress, Journal: journal.Append(nil)})
		if tooMuch(err) && len(journal.Effects) > 0 {
			r.fail(ctx, r.began, err)
			return false
		}
		if err != nil && !tooMuch(err) {
			r.report(ctx, err)
			return false
		}
	}
	if r.lease {
		pause, stop := context.WithTimeout(r.ctx, min(max(after, refusedPause), maxRetryPause))
		defer stop()
		select {
		case <-pause.Done(): // also if the task is cancelled
		case <-r.e.running.Closing():
		}
		return false
	}
	return wait.Pause(r.ctx, max(after, refusedPause)) == nil
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
		r.e.failed(ctx, c, fmt.Errorf("engine: the result of a task is too large to be kept: %w", err)) // the steps of the call saw it succeed
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

// suspend changes the status of the task to input_required. The result of the handler is ignored.
//
// The client may answer as soon as the record is written. The task may then run again, here in
// another goroutine or on another node, while suspend returns. Nothing after change may use the
// round or the record.
func (r *execution) suspend(ctx context.Context, c *Call, returned error) {
	if _, panicked := errors.AsType[*PanicError](returned); panicked {
		r.e.failed(ctx, c, returned)
	}
	journal := r.journal(c, 1)
	filed, err := taskrecord.Questions(r.from.dialect, c.round.Load().filed)
	if err != nil {
		r.fail(r.ctx, r.began, err)
		return
	}
	err = r.change(ctx, r.began, func(record *task.Record) task.Event {
		if len(record.Asked) > r.asked {
			return task.Event{}
		}
		return task.Event{Kind: task.Ask, Questions: taskrecord.NewKeys(record, filed), Journal: journal.Append(nil)}
	})
	if errors.Is(err, errAsked) {
		return
	}
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
//
// Goroutines that keep at the same time do not lose effects: each attempt makes the journal again,
// after it has read the record. One that finds nothing to write has waited for the write of its
// effect, because keeping is held.
func (r *execution) keep(ctx context.Context, c *Call) error {
	r.keeping.Lock()
	defer r.keeping.Unlock()
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

// journal returns the call's journal with the last progress of the task.
func (r *execution) journal(c *Call, rounds int) *rounds.Journal {
	j := c.journal(rounds)
	j.Effects = r.progressed(j.Effects)
	return j
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

// endBy writes err into the record as the end of the task. It returns the error of change.
func (j *job) endBy(ctx context.Context, runs int, err error) error {
	c := j.unstarted(runs).call(&protocol.CallToolParams{}, noMeta, &rounds.Journal{})
	wire := j.from.wireError(ctx, c, err)
	text, _ := jsontext.Member(jsonrpc.AppendError(nil, jsonrpc.ID{}, wire, true), "error")
	return j.apply(ctx, runs, task.Event{Kind: task.Fail, Error: text, Message: wire.Message})
}
