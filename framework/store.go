package framework

import (
	"errors"
	"reflect"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework/internal/callsite"
	"github.com/kagami-mcp/kagami/framework/internal/safestore"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/claim"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// Store provides the stores of a server, one per method. If a method returns nil, the server uses
// the memory of this process instead. Packages store/memory, boltstore and redisstore implement
// Store.
//
// A Store may have a method Claims() claim.Store. Nodes then share three things: effects
// that may happen AtMostOnce, the states of calls that are asked in rounds, and the counters of
// middleware.
//
// A Store may also have a method Failed() <-chan struct{}. Its channel is closed when the store takes
// no more writes until it is opened again. Serve then returns an error.
//
// The task.Store may also be a task.Queue. Then any node that shares the store may run a task, and
// another one takes it over if the first dies. Without a queue, the process that took the call runs
// the task.
//
// A panic in a store fails that operation, and is logged with its stack.
type Store interface {
	Sessions() session.Store
	Tasks() task.Store
	Events() eventlog.Store
	Changes() change.Bus
}

// WithStore sets the store. The default is store/memory. The option --store of package serve has
// precedence.
//
// To their clients, servers with the same store are one server. Each serves any request of any
// session, resumes any stream, and answers for any task. They must be built from the same program.
// The caller closes the store, after the server has stopped.
func WithStore(s Store) AppOption {
	return appOption{"WithStore", checked(s != nil && !isNilPointer(s), "the store is nil", func(c *appConfig) { c.store = s })}
}

// isNilPointer reports whether an interface holds a nil pointer, such as the result of a
// constructor whose error was ignored.
func isNilPointer(held any) bool {
	v := reflect.ValueOf(held)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// UseStore sets the store of an app that other code has made. It has precedence over WithStore. Nil
// removes the store.
func (a *App) UseStore(s Store) *App {
	if isNilPointer(s) {
		a.fault(callsite.Caller(1), "UseStore: the store is nil", "Check the error of the call that opens it")
		return a
	}
	a.cfg.store = s
	return a
}

// WithTaskWorkers sets how many tasks from the queue of a shared store this server runs at the same
// time. The default is 64. With 0 it does not run any, and leaves them to the other nodes that
// share the store.
func WithTaskWorkers(n int) AppOption {
	return appOption{"WithTaskWorkers", checked(n >= 0, "the number is negative", func(c *appConfig) {
		if c.tasks.Workers = n; n == 0 {
			c.tasks.Workers = -1
		}
	})}
}

// WithTasksPerCaller sets how many unfinished tasks one principal may have, or one session without
// a principal. The default is 1,024. More are refused. The workers of a shared store take tasks in
// the order of their arrival, and do not look at the owner. The limit therefore bounds how long the
// tasks of one caller delay all others. It does not apply to tasks without an owner; all of them
// together may be 16,384.
func WithTasksPerCaller(n int) AppOption {
	return appOption{"WithTasksPerCaller", checked(n >= 1, "the number must be 1 or more", func(c *appConfig) {
		c.tasks.PerOwner = n
	})}
}

// ports holds the stores that a server uses.
type ports struct {
	events   eventlog.Store
	tasks    task.Store
	queue    task.Queue // nil if a task runs in the process that took the call
	claims   claim.Store
	shared   bool          // other nodes use the same claims
	sessions session.Store // nil if sessions live in this process only
	changes  change.Bus    // nil without other nodes
}

// portsOf returns the ports of the given store. Panics in them are reported and become errors.
// If the store lacks a port that a server needs, portsOf uses one in memory.
func portsOf(given Store, report safestore.Reporter) ports {
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

// storeLost returns a channel that is closed when the store has failed permanently. It is nil if the
// store does not report that.
func (s *Server) storeLost() <-chan struct{} {
	if store, ok := s.cfg.store.(interface{ Failed() <-chan struct{} }); ok {
		return store.Failed()
	}
	return nil
}

// lacksClaims reports whether processes share the store of the app although it lacks Claims. Servers agree on
// a secret for states through Claims. A type that wraps a Store by embedding it loses the method.
func (s *Server) lacksClaims() bool {
	if s.cfg.store == nil || s.cfg.states != nil || s.shared {
		return false
	}
	_, alone := s.sessions.(session.Exclusive)
	return !alone && (s.sessions != nil || s.changes != nil)
}

// storeFailed logs the panic of a store, or a subscription that has ended too early. It may be called
// from a background goroutine.
func (s *Server) storeFailed(err error) {
	if _, ok := errors.AsType[*engine.PanicError](err); ok {
		s.cfg.logger.Error("the store panicked", withStack([]zap.Field{zap.Error(err)}, err)...)
		return
	}
	s.cfg.logger.Error("the store ended a subscription too early", zap.Error(err))
}
