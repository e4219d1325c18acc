package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/nodebus"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/taskwatch"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/task"
)

const (
	// defaultDeaths is how often a task may lose its worker. A task that kills its workers must end
	// at some time.
	defaultDeaths = 5
	// takePause is how long a worker waits while the queue is unavailable.
	takePause = time.Second
)

// taking is the goroutine that takes tasks from the queue and starts a goroutine for each. At most
// TaskLimits.Workers run at once. It ends when the engine closes.
//
// places is a semaphore. The loop puts an element in before it takes a lease, and the goroutine of
// the lease takes one out when it ends, also by runtime.Goexit. ctx ends as soon as Shutdown begins.
// A lease that arrives after that is given back at once.
func (e *Engine) taking(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	e.nodes.running.Go(func() {
		<-e.running.Closing()
		stop()
	})
	places := make(chan struct{}, e.cfg.TaskLimits.Workers)
	for {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		lease, err := e.cfg.Queue.Take(ctx)
		serve := func() {
			defer func() { <-places }()
			e.serveLease(context.WithoutCancel(ctx), lease)
		}
		if err != nil && (ctx.Err() != nil || e.running.Closed()) {
			return
		}
		e.attempted(ctx, &e.takes, "taking a task", err)
		switch {
		case err != nil:
			<-places
			_ = wait.Pause(ctx, takePause) // the next attempt fails if ctx has ended
		case !e.running.Go(serve):
			if !lease.Again { // see serveLease
				e.giveBack(ctx, lease)
			}
			return
		}
	}
}

// serveLease runs a task until it has ended, waits for answers, or another worker has it.
//
// The lease belongs to this goroutine until giveBack. The deferred calls run in this order: renew
// is stopped, renew has ended, the job is finished, and the lease is given back. A job whose lease
// is lost writes nothing any more, because its runs are no longer the record's. The process may die
// at any point: the lease then expires, and the queue marks the next one as Again.
//
// If the previous worker is gone, the lease is given back only after takeOver has recorded that.
// The queue forgets a lease that is given back, so the next worker would not record it. If takeOver
// has not recorded it, the lease is left to expire. A process that cannot run the task also records
// it, so that others need not wait for the end of this lease.
func (e *Engine) serveLease(ctx context.Context, lease task.Lease) {
	again := lease.Again
	defer func() {
		if !again {
			e.giveBack(ctx, lease)
		}
	}()
	began := time.Now()
	r, err := e.cfg.Tasks.Get(ctx, lease.Task)
	e.reportRead(ctx, lease.Task, err)
	if err != nil || r.Status != protocol.TaskWorking {
		if err != nil && !errors.Is(err, task.ErrNotFound) {
			e.running.Pause(takePause) // if it were given back at once, a worker would take it again at once
		}
		return
	}
	j, err := e.jobOf(ctx, &r)
	j.runs = r.Runs
	if err != nil {
		defer j.cancel(nil)
		if again {
			again = !j.takeOver()
			return
		}
		if e.leaves(ctx, &r, err) {
			e.running.Pause(takePause)
			return
		}
		e.failed(ctx, nil, fmt.Errorf("engine: the stored task %s cannot run here; if several programs share the store, give each program its own store: %w", digest(r.ID), err))
		j.fail(ctx, r.Runs, err)
		return
	}
	j.lease = true
	j.sureFrom(began, lease)
	j.live(j.left(&r))
	defer j.finish(nil)
	var renewing sync.WaitGroup
	running, stop := context.WithCancel(ctx)
	renewing.Go(func() { j.renew(running, lease) })
	defer renewing.Wait()
	defer stop() // also if the handler ends this goroutine
	if again = again && !j.takeOver(); again || j.interrupted(lease) {
		return
	}
	for j.run() {
	}
}

// leaves reports whether a task that this process cannot run is left to other workers. If the task
// cannot be read, it is left until it expires, because a newer version of the program may have
// written it. Any other task is left for taskwatch.Patience.
func (e *Engine) leaves(ctx context.Context, r *task.Record, err error) bool {
	if errors.Is(err, task.ErrUnreadable) {
		e.reportRead(ctx, r.ID, err)
		return true
	}
	known := e.foreign.Since(r.ID, time.Now()) // not only r.Updated, because the record may be old if no worker was free before
	return min(known, e.cfg.Now().Sub(r.Updated)) < taskwatch.Patience
}

// takeOver records that the previous worker of the task is gone: it increments the runs. It reports that,
// because a task that kills its workers leaves no other trace. If that worker is still alive, its writes
// are refused from now on. takeOver returns false if the store returned an error.
//
// It is called before the first run, by the goroutine of the lease.
func (j *job) takeOver() bool {
	err := j.apply(j.ctx, j.runs, task.Event{Kind: task.Resume})
	j.report(j.ctx, err)
	if err != nil {
		return false
	}
	j.runs++
	then := "it runs again"
	switch {
	case !j.lease: // jobOf has failed, and the number of maxDeaths is not known here
		then = "other processes may run it"
	case j.runs > j.maxDeaths():
		then = "it fails"
	}
	j.e.failed(j.ctx, nil, fmt.Errorf("engine: task %s of the tool %q has lost its worker in run %d, and now %s", digest(j.id), j.tool, j.runs, then))
	return true
}

// interrupted fails a task that has lost too many workers. It returns false for other tasks.
//
// A process that could not run the task may have recorded the loss of a worker. The runs are
// therefore also checked without a new loss, but they may then be retries.
func (j *job) interrupted(lease task.Lease) bool {
	most := j.maxDeaths()
	if !lease.Again {
		most = max(most, j.policy.Retries)
	}
	if j.runs <= most {
		return false
	}
	j.fail(j.ctx, j.runs, protocol.Faultf(protocol.FaultInternal, "the task was interrupted: the process that ran it has ended"))
	return true
}

// maxDeaths returns the number of workers that the task may lose.
func (j *job) maxDeaths() int {
	if j.policy.Deaths == 0 {
		return defaultDeaths
	}
	return max(j.policy.Deaths, 0)
}

// renew keeps the lease while the task runs here. If the store is unavailable, renew tries again as
// long as no other worker can have the task.
//
// It shares only sure with the goroutine of the lease, under job.mu. began is read before the
// request to the store, so that this node never believes longer than the store that it has the
// lease. If the lease is lost, renew ends the job's context and returns.
func (j *job) renew(ctx context.Context, lease task.Lease) {
	tick := time.NewTicker(max(lease.Life/3, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		began := time.Now()
		err := j.renewOnce(ctx, lease)
		switch {
		case err == nil:
			j.sureFrom(began, lease)
		case ctx.Err() != nil:
			return
		case errors.Is(err, task.ErrLost), !j.isSure():
			j.e.changes.Task(j.id) // if the task has ended, that should become the cause
			if wait.Pause(ctx, checkPause) == nil {
				j.cancel(errLost)
			}
			return
		}
	}
}

// renewOnce renews the lease once. It waits for the store no longer than the lease lasts.
func (j *job) renewOnce(ctx context.Context, lease task.Lease) error {
	ctx, cancel := context.WithTimeout(ctx, lease.Life)
	defer cancel()
	return j.e.cfg.Queue.Renew(ctx, lease)
}

// giveBack ends the lease. If the task is still working, another worker can take it at once.
//
// The store ignores a lease that another worker has taken over.
func (e *Engine) giveBack(ctx context.Context, lease task.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), nodebus.PublishTimeout)
	defer cancel()
	err := e.cfg.Queue.Release(ctx, lease) // after an error the lease expires
	e.attempted(ctx, &e.returns, "returning a task to the queue", named(lease.Task, err))
}
