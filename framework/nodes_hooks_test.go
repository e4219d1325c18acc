package framework_test

import (
	"context"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// hooks observe what a store does, or make it fail.
type hooks struct {
	update  func() error        // before an Update
	updated func(r task.Record) // after an Update
	lost    func() error        // of an Update that has happened
	get     func(ctx context.Context, id string) error
	renew   func(ctx context.Context) error
	renewed func() bool // a Renew succeeds without reaching the store
	take    func()
	claim   func(key string) error
	swap    func(key string) error
	publish func() error
}

type hooked struct {
	*memory.Store
	h *hooks
}

// twoHooked are two started servers with these resources, on one store.
func twoHooked(t *testing.T, h *hooks, uris ...string) []*framework.Server {
	t.Helper()
	all := make([]*framework.Server, 2)
	store := memory.New()
	for i := range all {
		app := quiet(framework.WithStore(hooked{store, h}))
		for _, uri := range uris {
			app.Add(framework.Resource(uri, func(context.Context) (string, error) { return "", nil }))
		}
		all[i] = build(t, app)
		if err := all[i].Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

type hookedTasks struct {
	task.Store
	task.Queue
	h *hooks
}

func (s hooked) Tasks() task.Store {
	t := s.Store.Tasks()
	return hookedTasks{t, t.(task.Queue), s.h}
}
func (s hooked) Claims() claim.Store { return hookedClaims{s.Store.Claims(), s.h} }

func (s hooked) Changes() change.Bus { return hookedChanges{s.Store.Changes(), s.h} }

type hookedChanges struct {
	change.Bus
	h *hooks
}

func (c hookedChanges) Publish(ctx context.Context, message []byte) error {
	if c.h.publish != nil {
		if err := c.h.publish(); err != nil {
			return err
		}
	}
	return c.Bus.Publish(ctx, message)
}

type hookedClaims struct {
	claim.Store
	h *hooks
}

func (c hookedClaims) Claim(ctx context.Context, key string, v []byte, d time.Duration) ([]byte, bool, error) {
	if c.h.claim != nil {
		if err := c.h.claim(key); err != nil {
			return nil, false, err
		}
	}
	return c.Store.Claim(ctx, key, v, d)
}

func (c hookedClaims) Swap(ctx context.Context, key string, old, v []byte, d time.Duration) (bool, error) {
	if c.h.swap != nil {
		if err := c.h.swap(key); err != nil {
			return false, err
		}
	}
	return c.Store.Swap(ctx, key, old, v, d)
}

func (t hookedTasks) Update(ctx context.Context, r task.Record) error {
	if t.h.update != nil {
		if err := t.h.update(); err != nil {
			return err
		}
	}
	err := t.Store.Update(ctx, r)
	if err == nil && t.h.updated != nil {
		t.h.updated(r)
	}
	if err == nil && t.h.lost != nil {
		return t.h.lost()
	}
	return err
}

func (t hookedTasks) Get(ctx context.Context, id string) (task.Record, error) {
	if t.h.get != nil {
		if err := t.h.get(ctx, id); err != nil {
			return task.Record{}, err
		}
	}
	return t.Store.Get(ctx, id)
}

func (t hookedTasks) Renew(ctx context.Context, l task.Lease) error {
	if t.h.renewed != nil && t.h.renewed() {
		return nil
	}
	if t.h.renew != nil {
		if err := t.h.renew(ctx); err != nil {
			return err
		}
	}
	return t.Queue.Renew(ctx, l)
}

func (t hookedTasks) Take(ctx context.Context) (task.Lease, error) {
	l, err := t.Queue.Take(ctx)
	if t.h.take != nil && err == nil {
		t.h.take()
	}
	return l, err
}
