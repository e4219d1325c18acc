package task

import (
	"context"
	"errors"
	"time"
)

// ErrLost says that a lease is not the caller's any more: it ran out and another worker
// has the task, or the task is not working any more.
var ErrLost = errors.New("task: lease lost")

// Queue hands tasks that are working to workers, each to one at a time, on whatever
// node they are. It is the other face of a Store: a value that is both.
//
// A record is in line from the moment in which Create keeps it as working, or Update
// turns it to working, in one step with that: no task that was accepted is ever out of
// sight. It leaves the line when its record is not working any more, however that came.
//
//	for {
//		lease, err := queue.Take(ctx)
//		...                                   // work; Renew every third of lease.Life
//		err = queue.Release(ctx, lease)
//	}
//
// A lease that runs out makes the task somebody else's. The worker that had it may not
// know: what it writes is refused, because the next one began with a Resume, and
// Record.Runs is another.
type Queue interface {
	// Take waits for a task in line, or one whose lease ran out, and leases it. Those
	// that waited longest come first, more or less. The error is ctx's, or says that the
	// store is away: try again after a while.
	Take(ctx context.Context) (Lease, error)
	// Renew begins the life of the lease anew. ErrLost.
	Renew(ctx context.Context, l Lease) error
	// Release ends the lease. A task that is still working is in line again at once,
	// as if nobody had taken it; otherwise the queue forgets it. A lease that is lost is
	// no error.
	Release(ctx context.Context, l Lease) error
}

// Lease is the right to run a task for a while.
type Lease struct {
	Task  string
	Token string        // the queue's own: it names this lease and no other
	Life  time.Duration // from Take, and from each Renew
	// Again says that a worker has had it before, and has not released it: its lease ran
	// out. It is false for what is in line for the first time since it became working.
	Again bool
}
