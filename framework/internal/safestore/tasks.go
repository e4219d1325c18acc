package safestore

import (
	"context"

	"github.com/kagami-mcp/kagami/protocol/task"
)

// Tasks wraps a task.Store. The result is not a task.Queue: see Queue.
func Tasks(s task.Store, report Reporter) task.Store { return tasks{s, report} }

type tasks struct {
	task.Store
	report Reporter
}

func (t tasks) Create(ctx context.Context, r task.Record) (err error) {
	defer t.report.caught("Tasks.Create", &err)
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	return t.Store.Create(ctx, r)
}

func (t tasks) Get(ctx context.Context, id string) (r task.Record, err error) {
	defer t.report.caught("Tasks.Get", &err)
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	return t.Store.Get(ctx, id)
}

func (t tasks) Update(ctx context.Context, r task.Record) (err error) {
	defer t.report.caught("Tasks.Update", &err)
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	return t.Store.Update(ctx, r)
}

func (t tasks) Delete(ctx context.Context, id string) (err error) {
	defer t.report.caught("Tasks.Delete", &err)
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	return t.Store.Delete(ctx, id)
}

func (t tasks) List(ctx context.Context, owner, after string, limit int) (page []task.Record, err error) {
	defer t.report.caught("Tasks.List", &err)
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	return t.Store.List(ctx, owner, after, limit)
}

func (t tasks) Count(ctx context.Context, owner string) (n int, err error) {
	defer t.report.caught("Tasks.Count", &err)
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	return t.Store.Count(ctx, owner)
}

// Queue wraps a task.Queue.
func Queue(q task.Queue, report Reporter) task.Queue { return queue{q, report} }

type queue struct {
	task.Queue
	report Reporter
}

func (q queue) Take(ctx context.Context) (l task.Lease, err error) {
	defer q.report.caught("Tasks.Take", &err)
	return q.Queue.Take(ctx)
}

func (q queue) Renew(ctx context.Context, l task.Lease) (err error) {
	defer q.report.caught("Tasks.Renew", &err)
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	return q.Queue.Renew(ctx, l)
}

func (q queue) Release(ctx context.Context, l task.Lease) (err error) {
	defer q.report.caught("Tasks.Release", &err)
	ctx, cancel := context.WithTimeout(ctx, maxOperation)
	defer cancel()
	return q.Queue.Release(ctx, l)
}
