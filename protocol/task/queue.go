package task

import (
	"context"
	"errors"
	"time"
)

// ErrLost means that the caller no longer holds the lease. Either the lease expired and another
// worker may have the task, or it was released, or the task is no longer working.
var ErrLost = errors.New("task: lease lost")

// Queue gives working tasks to workers, on any node. Each task is given to one worker at a time.
// The same value implements Store and Queue.
//
// A task enters the queue in the same atomic step that stores it as working: in Create, or in an
// Update that turns it to working. Therefore no accepted task is ever lost. It leaves the queue as
// soon as it is no longer working, for any reason.
//
//	for {
//		lease, err := queue.Take(ctx)
//		...                                   // work; Renew every third of lease.Life
//		err = queue.Release(ctx, lease)
//	}
//
// When a lease expires, another worker gets the task. The first worker may not notice. Its later
// writes are refused, because its successor began with a Resume event, which changed Record.Runs.
type Queue interface {
	// Take waits for a task that is queued or has an expired lease, and leases it. Tasks that have
	// waited longest come first, approximately. Take returns ctx's error, or an error if the store
	// cannot be reached; then try again later.
	Take(ctx context.Context) (Lease, error)

	// Renew restarts the life of the lease. The error may be ErrLost.
	Renew(ctx context.Context, l Lease) error

	// Release ends the lease. A task that is still working is queued again at once, as if it had
	// never been taken; otherwise the queue forgets it. Releasing a lost lease is not an error.
	Release(ctx context.Context, l Lease) error
}

// Lease is the right to run a task for a while.
type Lease struct {
	Task  string        // ID of the task
	Token string        // made by the queue; identifies this lease and no other
	Life  time.Duration // counted from Take, and again from each Renew
	// Again is true if another worker held a lease on the task and did not release it before
	// it expired. It is false if the task is taken for the first time since it turned to
	// working, or was released.
	Again bool
}
