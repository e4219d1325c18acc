package testkit

import (
	"context"
	"fmt"

	"github.com/kagami-mcp/kagami/protocol/task"
)

// killableStore is the task store and queue of one node. Its worker can die, and operations of a dead
// worker then have no effect on the store.
type killableStore struct {
	task.Store
	queue task.Queue
	n     *node
}

// Get returns ErrNotFound to a dead worker.
func (m *killableStore) Get(ctx context.Context, id string) (task.Record, error) {
	if m.n.sightless(ctx) {
		return task.Record{}, task.ErrNotFound
	}
	return m.Store.Get(ctx, id)
}

// Update changes nothing for a dead worker.
func (m *killableStore) Update(ctx context.Context, r task.Record) error {
	if m.n.dead(ctx) {
		return task.ErrNotFound
	}
	return m.Store.Update(ctx, r)
}

// Take waits until ctx ends if the worker is dead.
func (m *killableStore) Take(ctx context.Context) (task.Lease, error) {
	alive, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.n.life, cancel)()
	lease, err := m.queue.Take(alive)
	switch {
	case err == nil && m.hold(&lease):
		return lease, nil
	case err == nil:
		err = m.abandon(ctx, lease)
	}
	if m.n.life.Err() != nil {
		<-ctx.Done()
		return task.Lease{}, ctx.Err()
	}
	return task.Lease{}, err
}

// hold registers the lease, if the worker is alive.
func (m *killableStore) hold(lease *task.Lease) bool {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	if m.n.life.Err() != nil {
		return false
	}
	m.n.held[lease.Token] = *lease
	m.n.running.Add(1)
	c := m.n.c
	c.mu.Lock()
	defer c.mu.Unlock()
	lease.Again = lease.Again || c.left[lease.Task]
	delete(c.left, lease.Task)
	return true
}

// abandon releases a lease that a dead worker has just received, and keeps its Again for the next
// worker.
func (m *killableStore) abandon(ctx context.Context, lease task.Lease) error {
	c := m.n.c
	if lease.Again {
		c.mu.Lock()
		c.left[lease.Task] = true
		c.mu.Unlock()
	}
	return m.queue.Release(context.WithoutCancel(ctx), lease)
}

// Renew returns ErrLost if the worker is dead.
func (m *killableStore) Renew(ctx context.Context, l task.Lease) error {
	if m.n.life.Err() != nil {
		return task.ErrLost
	}
	return m.queue.Renew(ctx, l)
}

// Release does nothing if the worker is dead: the lease expires.
func (m *killableStore) Release(ctx context.Context, l task.Lease) error {
	defer m.n.running.Done()
	m.n.mu.Lock()
	alive := m.n.life.Err() == nil
	if alive {
		delete(m.n.held, l.Token)
	}
	m.n.mu.Unlock()
	if !alive {
		return nil
	}
	return m.queue.Release(ctx, l)
}

// lapse ends the leases of the dead worker, as if they had expired.
func (n *node) lapse(ctx context.Context) error {
	n.mu.Lock()
	held := n.held
	n.held = make(map[string]task.Lease)
	n.mu.Unlock()
	for _, lease := range held {
		n.c.mu.Lock()
		n.c.left[lease.Task] = true
		n.c.mu.Unlock()
		if err := n.c.queue().Release(ctx, lease); err != nil {
			return fmt.Errorf("ending the lease of a worker that died: %w", err)
		}
	}
	return nil
}
