package memory

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/kagami-mcp/kagami/protocol/task"
)

// Take waits for a task and leases it. If ctx has already ended, it takes no task, because no
// worker might run it.
func (s *tasks) Take(ctx context.Context) (task.Lease, error) {
	w := &waiter{wake: make(chan struct{}, 1)}
	for {
		err := ctx.Err()
		if err == nil {
			lease, wait, ok := s.take(w)
			if ok {
				return lease, nil
			}
			err = w.sleep(ctx, wait)
		}
		if err != nil {
			s.giveUp(w)
			return task.Lease{}, err
		}
	}
}

// take leases the task that has waited longest. If no task is due, it adds w to the list of waiters
// and returns how long to sleep; 0 means until w is woken.
func (s *tasks) take(w *waiter) (lease task.Lease, wait time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	t := s.queue.first()
	for t != nil && !t.task.alive(now) {
		s.forget(t.task)
		t = s.queue.first()
	}
	if t == nil || t.due.After(now) {
		return task.Lease{}, s.queue.wait(w, t, now), false
	}
	again := t.lease != 0
	s.queue.lend(t, now.Add(s.bounds.LeaseLife))
	s.queue.quit(w)
	return task.Lease{
		Task: t.task.record.ID, Token: t.token(), Life: s.bounds.LeaseLife, Again: again,
	}, 0, true
}

func (s *tasks) giveUp(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.quit(w)
}

// Renew also succeeds after the lease has expired, as long as no other worker has taken the task.
func (s *tasks) Renew(_ context.Context, l task.Lease) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	t := s.leased(l, now)
	if t == nil {
		return fmt.Errorf("memory: %w", task.ErrLost)
	}
	s.queue.renew(t, now.Add(s.bounds.LeaseLife))
	return nil
}

// Release ends the lease and wakes a waiter.
func (s *tasks) Release(_ context.Context, l task.Lease) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if t := s.leased(l, now); t != nil {
		s.queue.giveBack(t, now)
	}
	return nil
}

// leased returns the queue entry for the lease, or nil if the lease is lost. The caller holds s.mu.
func (s *tasks) leased(l task.Lease, now time.Time) *queueEntry {
	h := s.find(l.Task, now)
	if h == nil || h.queued.lease == 0 || h.queued.token() != l.Token {
		return nil
	}
	return &h.queued
}

// token returns the text that identifies the lease.
func (t *queueEntry) token() string { return strconv.FormatUint(t.lease, 10) }
