package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/nodebus"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/storeerror"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/taskrecord"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// job is this process's state of a task that has not ended: the handler to run and the session to
// notify. The record in the store is authoritative. While the task waits for answers, its job has no
// goroutine.
//
// A job exists from live, which registers it in Engine.jobs, to finish, which removes it. Without a
// queue it stays registered while the task waits. With a queue, it lasts until serveLease returns.
// When the task ends, update sets over under telling, so that nothing is sent for the task
// afterwards.
//
// Its owner is the goroutine that runs the handler: work or serveLease. The fields tool, h, policy,
// from, lease and runs are written before the job is registered, or by that goroutine. Requests and
// messages of other nodes find the job in Engine.jobs. They may only end it (finish), publish for
// it, or update its record.
//
// telling is held while the record is written as ended. job.mu is taken by publish, which takes the
// lock of the session's feed under it. Neither of the two locks is taken under the other, and
// jobs.mu is taken alone.
type job struct {
	e      *Engine
	id     string
	tool   string // name of the tool, for the log
	h      Handler
	policy *TaskPolicy
	lease  bool // the task was taken from the queue
	runs   int  // Record.Runs of the run that this process has; used only by the worker's goroutine

	from origin // the request that created the task

	busy atomic.Bool // the handler runs

	ctx    context.Context //nolint:containedctx // of the task; it outlives requests
	cancel context.CancelCauseFunc

	// telling is read-locked while a notification of the task is sent. It is locked while the task
	// ends, because progress must stop then (2025-11-25 basic/utilities/tasks "Task Progress
	// Notifications").
	telling sync.RWMutex
	over    bool // the task has ended; guarded by telling

	mu       sync.Mutex  // guards the fields below
	sure     time.Time   // until then no other worker can have the lease; zero: there is no lease
	timer    *time.Timer // calls expire; nil: the task does not expire
	ends     time.Time   // when timer fires; zero: never
	gone     bool        // reportLost has reported the task
	told     uint64      // the version of the record that was published last
	progress *float64    // the last progress over all runs; nil: none
}

// jobs is the set of tasks of this process that have not ended.
//
// Functions copy what they need and release mu before they take a lock of a job.
type jobs struct {
	mu   sync.Mutex // guards byID
	byID map[string]*job
}

var errExpired = errors.New("engine: the task has expired")

// newJob makes and registers the job of a new task. Because the request ends soon, the job must not
// refer to it or to the carrier's buffer. Only the values of its context are kept.
//
// The caller has counted the job in running, and must start work or call running.Done.
func (e *Engine) newJob(ctx context.Context, x *exchange, h Handler, r *task.Record) *job {
	ctx, cancel := context.WithCancelCause(x.outlive(ctx))
	j := &job{
		e: e, id: r.ID, tool: taskrecord.Tool(r), h: h, policy: policy(h), from: x.origin,
		ctx: ctx, cancel: cancel,
	}
	j.from.request, j.from.addr = nil, x.call.RemoteAddr()
	j.from.snapshot = nil // a waiting task would keep an old catalog in memory
	if x.conn.single {    // the conn is in the memory of the exchange
		j.from.conn = e.noConn
	}
	j.live(r.TTL)
	return j
}

// live registers the job. If ttl is not 0, the job expires after ttl.
//
// The timer runs expire in a goroutine of its own. finish stops it. If finish came first, the timer
// still runs, and expire finds the task ended.
func (j *job) live(ttl time.Duration) {
	s := &j.e.jobs
	s.mu.Lock()
	if s.byID == nil {
		s.byID = make(map[string]*job)
	}
	s.byID[j.id] = j
	s.mu.Unlock()
	if j.e.stopped.Load() { // stopJobs may have run before the job was registered
		j.cancel(ErrShutdown)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if ttl > 0 {
		j.timer, j.ends = time.AfterFunc(ttl, j.expire), time.Now().Add(ttl)
	}
}

// job returns the job of a task, or nil. Methods that a nil job supports say so. The job may be
// finished at any time after that, which its methods tolerate.
func (e *Engine) job(id string) *job {
	e.jobs.mu.Lock()
	defer e.jobs.mu.Unlock()
	return e.jobs.byID[id]
}

// stopJobs ends the contexts of all tasks. It does not change their records.
//
// It sets stopped before it reads the jobs. A job that is registered later sees stopped and ends
// itself. Requests that watch a task are woken, so that they stop asking the client its questions.
func (e *Engine) stopJobs(cause error) {
	e.stopped.Store(true)
	e.jobs.mu.Lock()
	all := slices.Collect(maps.Values(e.jobs.byID))
	e.jobs.mu.Unlock()
	for _, j := range all {
		j.cancel(cause)
		j.mu.Lock()
		if j.timer != nil {
			j.timer.Stop()
		}
		j.mu.Unlock()
		e.watches.Wake(j.id)
	}
}

// left returns how long the task still lives. 0 means without limit.
func (j *job) left(r *task.Record) time.Duration {
	end := r.Expires()
	if end.IsZero() {
		return 0
	}
	return max(end.Sub(j.e.cfg.Now()), time.Nanosecond)
}

// expire is called by the timer when the TTL has passed. Most stores have dropped the record by then.
// If the store's clock was set back, the record and the task live on.
//
// The timer's goroutine is counted while it uses the store. After Shutdown has begun, expire only
// ends the job, and leaves the record to the store.
func (j *job) expire() {
	if !j.e.running.Begin() {
		j.finish(errExpired)
		return
	}
	defer j.e.running.Done()
	r, err := j.e.change(context.WithoutCancel(j.ctx), j.id, func(*task.Record) (task.Event, error) {
		return task.Event{Kind: task.Expire}, nil
	})
	switch {
	case errors.Is(err, task.ErrIgnored):
		j.mu.Lock()
		j.timer.Reset(j.left(&r))
		j.mu.Unlock()
		return
	case err != nil && !errors.Is(err, task.ErrNotFound) && !errors.Is(err, task.ErrTerminal):
		j.e.failed(j.ctx, nil, fmt.Errorf("engine: task %s expires: %w", digest(j.id), err))
	}
	j.finish(errExpired)
}

// finish ends the job: it ends the handler's context and wakes requests that wait for the task. It
// may be called more than once.
//
// It takes jobs.mu and job.mu one after the other. A job with the same id that was registered later
// is left alone.
func (j *job) finish(cause error) {
	j.cancel(cause)
	s := &j.e.jobs
	s.mu.Lock()
	if s.byID[j.id] == j {
		delete(s.byID, j.id)
	}
	s.mu.Unlock()
	j.mu.Lock()
	if j.timer != nil {
		j.timer.Stop()
	}
	j.mu.Unlock()
	j.e.watches.Wake(j.id)
}

// checkPause is the shortest interval between two checks of a task that another worker may have.
const checkPause = 50 * time.Millisecond

// sureFrom records that the lease was taken or renewed after began.
func (j *job) sureFrom(began time.Time, lease task.Lease) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sure = began.Add(lease.Life)
}

// isSure reports whether it is certain that no other worker has the task.
func (j *job) isSure() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.sure.IsZero() || time.Now().Before(j.sure)
}

// own waits while the lease may have expired, because this process or its store was stopped for a
// time. Another worker may then have the task, and may already have performed the next effect. renew
// finds out. If the task has ended here, own returns an error.
func (j *job) own() error {
	for !j.isSure() {
		if err := wait.Pause(j.ctx, checkPause); err != nil {
			return err
		}
	}
	return nil
}

// mostConflicts is the maximum number of attempts of change. If a store reports more conflicts, its
// reads do not return the state that it has stored.
const mostConflicts = 64

// change applies the event that decide returns for the record's current state. If the record was
// changed concurrently, change starts again. It returns the error of decide, of task.Next or of the
// store.
//
// It must be called without a lock but execution.keeping: decide, the store and the publication
// take their own. decide may be called several times, with a new record each time, and must have no
// effects. With a nil error, the change is stored and published, and a task that has ended has no
// job any more.
func (e *Engine) change(ctx context.Context, id string, decide func(*task.Record) (task.Event, error)) (task.Record, error) {
	j := e.job(id)
	for conflicts := 1; ; conflicts++ {
		r, err := e.cfg.Tasks.Get(ctx, id)
		if err != nil {
			return r, storeerror.New("reading a task", err)
		}
		event, err := decide(&r)
		if err != nil {
			return r, err
		}
		next, err := task.Next(r, event, e.cfg.Now())
		if err != nil {
			return r, err
		}
		switch err = e.update(ctx, j, next); {
		case err == nil:
			next.Version = r.Version + 1
			e.happened(j, &r, &next)
			return next, nil
		case !errors.Is(err, task.ErrConflict) || conflicts == mostConflicts:
			return r, storeerror.New("changing a task", err)
		}
		if conflicts > mostConflicts/4 { // the reads of the store may be behind
			if err := wait.Pause(ctx, checkPause); err != nil {
				return r, err
			}
		}
	}
}

// update writes the record. If the task ends, update holds telling, so that nothing is sent for the
// task afterwards.
//
// It waits for notifications that are being sent. over is set before telling is released, so a
// notification either precedes the end of the task or is dropped.
func (e *Engine) update(ctx context.Context, j *job, next task.Record) error {
	if j == nil || !next.Terminal() {
		return e.cfg.Tasks.Update(ctx, next)
	}
	j.telling.Lock()
	defer j.telling.Unlock()
	err := e.cfg.Tasks.Update(ctx, next)
	j.over = j.over || err == nil
	return err
}

// happened publishes a change, and ends the job if the task has ended.
//
// It runs in the goroutine that has changed the record, without a lock. If nodes share tasks, only
// the goroutine looking publishes, because only it keeps the order of versions. Without other
// nodes, publish compares versions under job.mu.
func (e *Engine) happened(j *job, before, after *task.Record) {
	visible := before.Status != after.Status || before.Message != after.Message || len(before.Questions) != len(after.Questions)
	switch {
	case visible && e.shares():
		e.spread(after.ID)
	case visible:
		e.publish(j, after)
	}
	j.endIfOver(after)
	e.watches.Wake(after.ID)
}

// spread makes all nodes, including this one, read a task that has changed or, after an error of the
// store, may have changed.
func (e *Engine) spread(id string) {
	if e.shares() {
		e.changes.Task(id)
		e.node.Broadcast(nodebus.Message{Kind: nodebus.Task, Task: id})
	}
}

// endIfOver ends the job if the task has ended. A nil job does nothing.
func (j *job) endIfOver(r *task.Record) {
	switch {
	case j == nil:
	case r.Status == protocol.TaskCancelled:
		j.finish(&CancelledError{Reason: "tasks/cancel"})
	case r.Terminal():
		j.finish(nil)
	}
}

// publish notifies the session that created the task (2025-11-25) and the listen streams that named
// it (2026-07-28), in the order of versions.
//
// It holds job.mu while it puts the state into the feeds, so that two changes cannot be put in the
// wrong order. Feeds only collect, and send in their own goroutines.
func (e *Engine) publish(j *job, r *task.Record) {
	if j != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		if r.Version <= j.told {
			return
		}
		j.told = r.Version
		if j.from.session != nil && j.from.dialect.CoreTasks() {
			j.from.session.feed.TaskChanged(r.ID, &protocol.TaskStatusParams{Task: taskrecord.TaskOf(r)})
		}
	}
	e.publishToListeners(r)
}

// publishToListeners puts the state into the feeds of listen streams that named the task. It may be
// called under job.mu.
func (e *Engine) publishToListeners(r *task.Record) {
	e.feeds.TaskChanged(r.ID, func(d *dialect.Dialect) (protocol.Params, error) {
		t, err := taskrecord.Detailed(r, d)
		return &protocol.TaskParams{Task: t}, err
	})
}

// publishToSession notifies the session that created the task, if it is served here.
func (e *Engine) publishToSession(r *task.Record) {
	var call taskrecord.Call
	if json.Unmarshal(r.Call, &call) != nil || call.Session == "" {
		return
	}
	if s := e.sessionOf(call.Session); s != nil && s.dialect.CoreTasks() {
		s.feed.TaskChanged(r.ID, &protocol.TaskStatusParams{Task: taskrecord.TaskOf(r)})
	}
}

// reread reads a task that this or another node has changed, and publishes it. Only the goroutine
// looking calls it, so that a client never receives an older state after a newer one. It returns false
// if the store could not be read.
func (e *Engine) reread(ctx context.Context, id string) (read bool) {
	r, err := e.cfg.Tasks.Get(ctx, id)
	if err == nil || ctx.Err() == nil {
		e.reportRead(ctx, id, err)
	}
	switch {
	case errors.Is(err, task.ErrNotFound):
		if j := e.job(id); j != nil {
			j.reportLost(ctx)
			j.finish(errExpired)
		}
	case ctx.Err() != nil: // the server stops
	case err != nil: // requests that wait for the task poll it themselves
		e.watches.Wake(id)
		return errors.Is(err, task.ErrUnreadable)
	default:
		e.job(id).endIfOver(&r)
		e.publishToSession(&r)
		e.publishToListeners(&r)
	}
	e.watches.Wake(id)
	return true
}

// clockSkew is how much earlier a task may expire in the store than by the clock of this process.
const clockSkew = time.Minute

// reportLost is called if the store no longer has the task. Unless the task has expired, reportLost
// reports the loss once, because otherwise neither the client nor the log would show it.
func (j *job) reportLost(ctx context.Context) {
	j.mu.Lock()
	early := !j.gone && (j.ends.IsZero() || time.Until(j.ends) > clockSkew)
	j.gone = true
	j.mu.Unlock()
	if early {
		j.e.failed(ctx, nil, fmt.Errorf("engine: the store has lost task %s of the tool %q before its time", digest(j.id), j.tool))
	}
}

// reportRead reports the outcome of reading a task. An unreadable task is reported only once.
func (e *Engine) reportRead(ctx context.Context, id string, err error) {
	switch {
	case errors.Is(err, task.ErrUnreadable):
		if n := e.unreadable.First(id); n > 0 {
			e.passedOver(ctx, id, n, err)
		}
		return
	case errors.Is(err, task.ErrNotFound): // the store has answered
		err = nil
	}
	e.attempted(ctx, &e.reads, "reading a task", named(id, err))
}

// leftOut reports a task that a list leaves out because it is unreadable. The list does not contain
// the reason, so leftOut reads the task to get it.
func (e *Engine) leftOut(ctx context.Context, id string) {
	n := e.unreadable.First(id)
	if n == 0 {
		return
	}
	_, err := e.cfg.Tasks.Get(ctx, id)
	if err == nil {
		err = fmt.Errorf("%w: its status is unknown", task.ErrUnreadable)
	}
	e.passedOver(ctx, id, n, err)
}

// passedOver reports an unreadable task. The task stays, because a node with a newer program, or
// with another key, may be able to read it.
func (e *Engine) passedOver(ctx context.Context, id string, n int, err error) {
	e.failed(ctx, nil, fmt.Errorf("engine: task %s is skipped until it expires, because it cannot be read here (%d such tasks so far): %w", digest(id), n, err))
}

// digest returns the digest that the log has in place of a task's ID. The ID is a secret if the
// task has no owner. Package middleware logs the same digest.
func digest(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}

// named adds the digest of the task to err. It returns nil if err is nil.
func named(id string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("task %s: %w", digest(id), err)
}

const (
	storePause    = 250 * time.Millisecond // before the second attempt at a store that is unavailable or full; doubled for each
	maxStorePause = 8 * time.Second
	storePatience = 10 * time.Second
)

// apply is like change, for an event that does not depend on the record.
func (j *job) apply(ctx context.Context, runs int, event task.Event) error {
	return j.change(ctx, runs, func(*task.Record) task.Event { return event })
}

// change applies an event to the record, unless another worker has the task (errLost). The results of
// a run must not be lost because the store is unavailable or full for a moment. change therefore
// tries again, at growing intervals, for storePatience or, with a lease, as long as this worker has
// the task.
//
// A store may be full for hours. After some attempts change reports that. Only the end of a task
// waits that long, not the effects and progress of a running task.
//
// event is called for each attempt. If it returns the zero Event, nothing is written, and the error
// is errAsked. change may block for as long as the store is unavailable, so no lock but
// execution.keeping may be held. It returns early if the job's context ends.
func (j *job) change(ctx context.Context, runs int, event func(*task.Record) task.Event) error {
	ctx = context.WithoutCancel(ctx)
	begun := time.Now()
	var e task.Event
	for delay := storePause; ; delay = min(2*delay, maxStorePause) {
		_, err := j.e.change(ctx, j.id, func(r *task.Record) (task.Event, error) {
			if r.Runs != runs {
				return task.Event{}, errLost
			}
			if e = event(r); e.Kind == 0 {
				return e, errAsked
			}
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
			j.e.failed(ctx, nil, fmt.Errorf("engine: task %s waits until the store can record its work: %w", digest(j.id), err))
		}
		if wait.Pause(j.ctx, delay) != nil {
			return err
		}
	}
}

// errAsked means that an earlier attempt has stored the questions of a run, although its response was
// lost. They may be answered by now.
var errAsked = errors.New("engine: the task has asked already")

// decided reports whether another attempt would give the same error. It is false for nil, and for a
// store that is unavailable or full.
func decided(err error) bool {
	final := []error{errLost, errAsked, task.ErrTerminal, task.ErrNotFound, task.ErrLimit, task.ErrEvent, task.ErrStatus}
	return slices.ContainsFunc(final, func(of error) bool { return errors.Is(err, of) })
}

// tooMuch reports whether the record would exceed its limits or the room in the store.
func tooMuch(err error) bool { return errors.Is(err, task.ErrLimit) || errors.Is(err, task.ErrFull) }

// report reports errors of the store to Config.Failed. It ignores errors because the task has ended
// or is gone. If another worker has the task (errLost), it ends this execution.
//
// err may be nil.
func (j *job) report(ctx context.Context, err error) {
	switch {
	case errors.Is(err, errLost):
		j.cancel(errLost)
	case errors.Is(err, task.ErrNotFound):
		j.reportLost(ctx)
	}
	if err == nil || errors.Is(err, task.ErrTerminal) || errors.Is(err, task.ErrNotFound) || errors.Is(err, errLost) || ctx.Err() != nil {
		return
	}
	j.e.failed(ctx, nil, named(j.id, err))
}
