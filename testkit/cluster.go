package testkit

import (
	"context"
	"sync"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// cluster is the store that the servers of a testServer share. Each server uses it through a node of its
// own, which can die as a process does. lapse and abandon add the tasks of a dead worker to left,
// and the next Take of such a task removes it. mu guards left.
type cluster struct {
	store framework.Store // from the option Store; nil if only tasks are shared, in memory
	tasks task.Store
	news  change.Bus

	mu   sync.Mutex      // guards left
	left map[string]bool // tasks of dead workers; their next lease has Again set
}

func newCluster(given framework.Store) *cluster {
	c := &cluster{store: given, left: make(map[string]bool)}
	if given != nil {
		c.tasks, c.news = given.Tasks(), given.Changes()
		return c
	}
	own := memory.New()
	c.tasks, c.news = own.Tasks(), own.Changes()
	return c
}

// queue returns the queue of the tasks. If the store has none, it returns nil. Tasks then run in
// the process that was called, and die with it.
func (c *cluster) queue() task.Queue {
	queue, _ := c.tasks.(task.Queue)
	return queue
}

// node is one server's access to the cluster.
type node struct {
	c    *cluster
	life context.Context //nolint:containedctx // of the worker, which may end before the server
	kill context.CancelFunc

	running sync.WaitGroup // leases that were not released; Add is called under mu, before life ends

	mu     sync.Mutex // guards the fields below
	held   map[string]task.Lease
	blind  bool                // the worker is dead and not replaced yet, so it finds no tasks
	listen []func(news []byte) // subscribers of the bus; each may be called one at a time
}

func (c *cluster) join(ctx context.Context) *node {
	n := &node{c: c, held: make(map[string]task.Lease)}
	n.life, n.kill = context.WithCancel(context.WithoutCancel(ctx))
	return n
}

// workerKey marks the context of work that a server does by itself. A crash ends this work. The
// server continues to serve requests, as another process would.
type workerKey struct{}

func asWorker(ctx context.Context) context.Context { return context.WithValue(ctx, workerKey{}, true) }

func isWorker(ctx context.Context) bool { return ctx.Value(workerKey{}) != nil }

// Sessions returns the sessions of the option Store, or nil.
func (n *node) Sessions() session.Store {
	if n.c.store == nil {
		return nil
	}
	return n.c.store.Sessions()
}

// Events returns the events of the option Store, or nil.
func (n *node) Events() eventlog.Store {
	if n.c.store == nil {
		return nil
	}
	return n.c.store.Events()
}

// Claims returns the claims of the option Store, or nil.
func (n *node) Claims() claim.Store {
	if with, ok := n.c.store.(interface{ Claims() claim.Store }); ok {
		return with.Claims()
	}
	return nil
}

// Changes returns the bus of the cluster, or nil.
func (n *node) Changes() change.Bus {
	if n.c.news == nil {
		return nil
	}
	return &ear{n.c.news, n}
}

// Tasks returns the tasks of the cluster, with its queue if it has one.
func (n *node) Tasks() task.Store {
	if n.c.queue() == nil {
		return n.c.tasks
	}
	return &killableStore{n.c.tasks, n.c.queue(), n}
}

// crash ends the worker. Nothing that the worker does from now on reaches the store. The contexts
// of its handlers end, because a goroutine cannot be killed.
func (n *node) crash() {
	n.mu.Lock()
	n.blind = true
	n.mu.Unlock()
	n.kill()
	n.mu.Lock()
	ears := n.listen
	n.mu.Unlock()
	for _, hear := range ears {
		hear(nil) // the server looks at its tasks again, and a dead worker finds none
	}
}

// idle returns a channel that is closed when the handlers of the dead worker have ended.
func (n *node) idle() <-chan struct{} {
	done := make(chan struct{})
	go func() { // ends with the last handler
		n.running.Wait()
		close(done)
	}()
	return done
}

// dead reports whether ctx belongs to a worker that has died.
func (n *node) dead(ctx context.Context) bool { return isWorker(ctx) && n.life.Err() != nil }

// sightless reports whether ctx belongs to a worker that has died and was not replaced yet.
func (n *node) sightless(ctx context.Context) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.blind && isWorker(ctx)
}

// replaced makes the tasks visible to the server of a dead worker again. Another worker runs them
// now, and the server still answers its clients.
func (n *node) replaced() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.blind = false
}

// ear is the bus of one node. crash can notify its subscribers that messages may be lost.
type ear struct {
	change.Bus
	n *node
}

// Subscribe calls fn for each message, and when the worker dies.
func (e *ear) Subscribe(ctx context.Context, fn func([]byte)) error {
	var turn sync.Mutex
	hear := func(message []byte) {
		turn.Lock()
		defer turn.Unlock()
		if ctx.Err() == nil {
			fn(message)
		}
	}
	e.n.mu.Lock()
	e.n.listen = append(e.n.listen, hear)
	e.n.mu.Unlock()
	return e.Bus.Subscribe(ctx, hear)
}
