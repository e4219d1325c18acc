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

// cluster is the store that the servers of a site share. Each has it through a node
// of its own, which can die as a process does.
type cluster struct {
	store framework.Store // what Store gave; nil: only tasks, in memory
	tasks task.Store
	news  change.Bus

	mu   sync.Mutex      // guards left
	left map[string]bool // tasks whose worker died: who takes one shall know
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

// queue of the tasks; nil: they run where they were called, and die there.
func (c *cluster) queue() task.Queue {
	queue, _ := c.tasks.(task.Queue)
	return queue
}

// node is the cluster as one server has it.
type node struct {
	c    *cluster
	life context.Context //nolint:containedctx // of the worker; the server lives on
	kill context.CancelFunc

	running sync.WaitGroup // leases that were not given back; added to under mu, while there is life

	mu     sync.Mutex // guards the fields below
	held   map[string]task.Lease
	blind  bool                // the dead worker sees nothing, until another is there
	listen []func(news []byte) // of Subscribe, each one at a time
}

func (c *cluster) join(ctx context.Context) *node {
	n := &node{c: c, held: make(map[string]task.Lease)}
	n.life, n.kill = context.WithCancel(context.WithoutCancel(ctx))
	return n
}

// workerKey marks the context of what a server does by itself, which is what dies.
// What it does for a request goes on: that is another process then.
type workerKey struct{}

func asWorker(ctx context.Context) context.Context { return context.WithValue(ctx, workerKey{}, true) }

func isWorker(ctx context.Context) bool { return ctx.Value(workerKey{}) != nil }

// Sessions are those of Store.
func (n *node) Sessions() session.Store {
	if n.c.store == nil {
		return nil
	}
	return n.c.store.Sessions()
}

// Events are those of Store.
func (n *node) Events() eventlog.Store {
	if n.c.store == nil {
		return nil
	}
	return n.c.store.Events()
}

// Claims are those of Store.
func (n *node) Claims() claim.Store {
	if with, ok := n.c.store.(interface{ Claims() claim.Store }); ok {
		return with.Claims()
	}
	return nil
}

// Changes are those of the cluster.
func (n *node) Changes() change.Bus {
	if n.c.news == nil {
		return nil
	}
	return &ear{n.c.news, n}
}

// Tasks are those of the cluster, with a queue where it has one.
func (n *node) Tasks() task.Store {
	if n.c.queue() == nil {
		return n.c.tasks
	}
	return &mortal{n.c.tasks, n.c.queue(), n}
}

// crash is the end of the worker: nothing that it does reaches the store any more.
// Its handlers are told to end, which is all that can be done to them.
func (n *node) crash() {
	n.mu.Lock()
	n.blind = true
	n.mu.Unlock()
	n.kill()
	n.mu.Lock()
	ears := n.listen
	n.mu.Unlock()
	for _, hear := range ears {
		hear(nil) // "look for yourself": at tasks that are not there for a dead worker
	}
}

// idle is closed when the handlers of the dead worker have ended.
func (n *node) idle() <-chan struct{} {
	done := make(chan struct{})
	go func() { // ends with the last handler
		n.running.Wait()
		close(done)
	}()
	return done
}

// dead says whether ctx is of a worker that has died.
func (n *node) dead(ctx context.Context) bool { return isWorker(ctx) && n.life.Err() != nil }

// sightless says whether ctx is of a worker that has died, and that nobody replaces.
func (n *node) sightless(ctx context.Context) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.blind && isWorker(ctx)
}

// replaced lets the server see again what others do: it still answers its clients.
func (n *node) replaced() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.blind = false
}

// ear is the bus, whose messages can be said to be lost.
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
