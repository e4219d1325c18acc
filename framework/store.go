package framework

import (
	"reflect"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework/internal/callsite"
	"github.com/kagami-mcp/kagami/framework/internal/safestore"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// Store gives the ports; a nil port is kept in memory, by this process alone. store/memory,
// boltstore and redisstore implement it.
//
// A Store may have one more method, Claims() claim.Store, and a task.Store may also be a
// task.Queue. With claims, processes share effects that may happen AtMostOnce, the states
// of calls that are asked in rounds, and what middleware counts. With a queue, a task is
// run by any of the processes that share the store, and by another one if the first dies;
// without, by the process that took the call.
//
// A panic in a port fails that operation, and is logged with its stack.
type Store interface {
	Sessions() session.Store
	Tasks() task.Store
	Events() eventlog.Store
	Changes() change.Bus
}

// WithStore replaces store/memory. serve's --store wins over it.
//
// To their clients, servers with the same store are one server: each takes any request of
// any session, resumes any stream, and answers for any task. They must be built from the
// same program. The caller closes the store, after the server.
func WithStore(s Store) AppOption {
	return appOption{"WithStore", func(c *appConfig) string {
		if s == nil || isNilPointer(s) {
			return "the store is nil"
		}
		c.store = s
		return ""
	}}
}

// isNilPointer says that an interface holds a nil pointer, such as that of a constructor whose
// error was ignored.
func isNilPointer(held any) bool {
	v := reflect.ValueOf(held)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// UseStore is WithStore for code that builds an app made by others: it wins over their
// WithStore. nil removes the store.
func (a *App) UseStore(s Store) *App {
	if isNilPointer(s) {
		a.fault(callsite.Caller(1), "UseStore: the store is nil", "Look at the error of what opens it")
		return a
	}
	a.cfg.store = s
	return a
}

// WithTaskWorkers sets how many tasks from the queue of a shared store this server runs at
// once; default 64. With 0 it runs none: others that share the store do.
func WithTaskWorkers(n int) AppOption {
	return appOption{"WithTaskWorkers", func(c *appConfig) string {
		if n < 0 {
			return "the number is negative"
		}
		if c.tasks.Workers = n; n == 0 {
			c.tasks.Workers = -1
		}
		return ""
	}}
}

// WithTasksPerCaller sets how many unfinished tasks one principal, or one session without a
// principal, may have; default 1,024. More are refused. The workers of a shared store take
// tasks in the order in which they came, no matter whose they are, so this bounds how long
// one caller's tasks keep all others waiting. It does not apply to tasks that belong to
// nobody.
func WithTasksPerCaller(n int) AppOption {
	return appOption{"WithTasksPerCaller", func(c *appConfig) string {
		if n < 1 {
			return "the number must be 1 or more"
		}
		c.tasks.PerOwner = n
		return ""
	}}
}

// ports are the stores that a server uses.
type ports struct {
	events   eventlog.Store
	tasks    task.Store
	queue    task.Queue // nil: a task runs in the process that took the call
	claims   claim.Store
	shared   bool          // other servers use the same claims
	sessions session.Store // nil: sessions live in this process
	changes  change.Bus    // nil: there are no other servers to tell
}

// portsOf returns the ports of the given store. Panics in them are reported and become errors.
// If the store lacks a port that a server needs, portsOf uses one in memory.
func portsOf(given Store, report safestore.PanicReporter) ports {
	own := memory.New()
	p := ports{events: own.Events(), tasks: own.Tasks(), claims: own.Claims()}
	if given == nil {
		return p
	}
	if events := given.Events(); events != nil {
		p.events = safestore.Events(events, report)
	}
	if tasks := given.Tasks(); tasks != nil {
		p.tasks = safestore.Tasks(tasks, report)
		if queue, ok := tasks.(task.Queue); ok {
			p.queue = safestore.Queue(queue, report)
		}
	}
	if with, ok := given.(interface{ Claims() claim.Store }); ok && with.Claims() != nil {
		p.claims, p.shared = safestore.Claims(with.Claims(), report), true
	}
	if sessions := given.Sessions(); sessions != nil {
		p.sessions = safestore.Sessions(sessions, report)
	}
	if changes := given.Changes(); changes != nil {
		p.changes = safestore.Changes(changes, report)
	}
	return p
}

// storePanicked logs the panic of a port, which may have happened in the background.
func (s *Server) storePanicked(err error) {
	s.cfg.logger.Error("the store panicked", withStack([]zap.Field{zap.Error(err)}, err)...)
}
