package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/task"
)

var (
	queueTake    = newScript("task", "queue_take")
	queueAccept  = newScript("task", "queue_accept")
	queueRenew   = newScript("task", "queue_renew")
	queueRelease = newScript("task", "queue_release")
	queueReap    = newScript("task", "queue_reap")
)

// group is the name of the consumer group of all workers. lua/task.lua has the same name.
const group = "w"

// Take waits together with the other Takes of this store. If Redis cannot be reached, Take returns
// the error and does not try again.
func (s *tasks) Take(ctx context.Context) (task.Lease, error) {
	if err := ctx.Err(); err != nil {
		return task.Lease{}, err
	}
	if s.store.fault != nil {
		return task.Lease{}, s.store.fault
	}
	t, err := s.takes.wait(ctx)
	if err != nil {
		return task.Lease{}, err
	}
	return s.lease(t), nil
}

// delivery is an entry of the stream that Redis has delivered to this store.
//
// It is a value that one goroutine at a time owns: the reader, then the Take, then the worker as a
// lease.
type delivery struct {
	task  string
	entry string
	count int64 // number of deliveries
}

// lease returns the lease for an entry. No two leases of a task have the same token: the count
// differs even if the same store takes the task again.
func (s *tasks) lease(t delivery) task.Lease {
	return task.Lease{
		Task:  t.task,
		Token: t.entry + " " + strconv.FormatInt(t.count, 10) + " " + s.takes.consumer,
		Life:  s.takes.life,
		Again: t.count > 1,
	}
}

// Renew does not change the count of deliveries.
func (s *tasks) Renew(ctx context.Context, l task.Lease) error {
	held, err := s.held(ctx, queueRenew, l)
	switch {
	case err != nil:
		return failed("renewing a lease", err)
	case !held:
		return fmt.Errorf("redisstore: %w", task.ErrLost)
	}
	return nil
}

// Release needs no round trip if this store has seen the entry end.
func (s *tasks) Release(ctx context.Context, l task.Lease) error {
	if entry, _, _ := strings.Cut(l.Token, " "); s.takes.isOver(entry) {
		return nil
	}
	if _, err := s.held(ctx, queueRelease, l); err != nil {
		return failed("releasing a lease", err)
	}
	return nil
}

// held runs a script that returns 1 if l is the current lease, and reports its answer. A store that
// did not take the task may also call it.
func (s *tasks) held(ctx context.Context, what script, l task.Lease) (bool, error) {
	entry, rest, _ := strings.Cut(l.Token, " ")
	count, consumer, ok := strings.Cut(rest, " ")
	if !ok {
		return false, nil
	}
	if _, err := strconv.ParseInt(count, 10, 64); err != nil {
		return false, nil //nolint:nilerr // a malformed token is that of no lease
	}
	held, err := s.run(ctx, what, s.store.lineKey(), consumer, l.Task, entry, count).Int()
	return held == 1, err
}
