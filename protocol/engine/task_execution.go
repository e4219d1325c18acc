package engine

import (
	"context"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/framebuf"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/rounds"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// execution is one run of a task's handler. It is the outlet of its call.
type execution struct {
	*job
	cancel context.CancelCauseFunc // of the context of the run
	began  int                     // Record.Runs when it began

	reporting sync.Mutex // held from the check that progress increases until it is sent
}

// unstarted returns an execution without a handler, for calls that are looked up or reported.
func (j *job) unstarted(runs int) *execution {
	return &execution{job: j, cancel: func(error) {}, began: runs}
}

// end implements outlet.
func (r *execution) end(cause error) { r.cancel(cause) }

// notify implements outlet. It sends the notification to the session that created the task, if there
// is one. 2026-07-28 has no such notifications, because listen streams must not carry them
// (SEP-2663).
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

// ask implements outlet. A task asks only in its record; see Call.Questions.
func (r *execution) ask(context.Context, protocol.Params, func(protocol.Progress), *wait.Order) (protocol.Result, error) {
	return nil, ErrCannotAsk
}

// once implements outlet. The effect is in the record of the task before the handler continues.
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

// source implements outlet.
func (r *execution) source() *origin { return &r.from }

// taskID implements outlet.
func (r *execution) taskID() string { return r.id }

// willRetry implements outlet.
func (r *execution) willRetry() bool { return r.began < r.policy.Retries }

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
