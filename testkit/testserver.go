package testkit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/testhook"
)

// testServer is a server under test, with everything needed to make more servers like it. crash ends the
// last of workers and resume appends one; mu guards workers.
type testServer struct {
	label   string // on its goroutines; see leakLabel
	server  *framework.Server
	app     *framework.App
	source  func() *framework.App // returns a fresh app each time; nil if there is only one app
	skew    *atomic.Int64         // added to the server's clock, in nanoseconds
	timeout time.Duration
	journal *journal                 // logs of apps that have no logger of their own
	speaker atomic.Pointer[exchange] // the exchange that sent last; nil if none has
	fault   fault
	outputs outputs

	mu      sync.Mutex // guards workers, and Crash against Resume
	workers []*node    // dead workers, and last the worker that runs tasks; nil if tasks are in the app's own store
}

// newTestServer builds and starts a server that ends with the test.
func newTestServer[A AppSource](t testing.TB, source A, c config) *testServer {
	t.Helper()
	c.check(t)
	app, fresh := appOf(t, source)
	st := &testServer{label: newLabel(), app: app, source: fresh, skew: &atomic.Int64{}, timeout: c.timeout, journal: newJournal(t)}
	st.watchGoroutines(t, c.leaks)
	if err := st.labeled(t, func() error { return st.open(t, c.store) }); err != nil {
		t.Fatalf("testkit: %v", err)
	}
	return st
}

// open builds and starts the server. Its tasks are in a store that outlives a worker, unless the
// app has a store of its own.
func (st *testServer) open(t testing.TB, store framework.Store) (err error) {
	join := func() *node {
		worker := newCluster(store).join(t.Context())
		t.Cleanup(worker.kill)
		st.workers = []*node{worker}
		return worker
	}
	app := st.app
	if store != nil {
		app = on(app, join())
	}
	if st.server, err = st.build(app, func() testhook.Store { return join() }); err != nil {
		return err
	}
	return st.start(t, st.server)
}

// on returns a copy of the app with this store. Other tests may use the app itself.
func on(app *framework.App, store framework.Store) *framework.App {
	own := *app
	return own.UseStore(store)
}

// build returns a new server. store makes the store if the app has none.
func (st *testServer) build(app *framework.App, store func() testhook.Store) (*framework.Server, error) {
	server, err := app.BuildForTest(&testhook.Hooks{
		Logger:  st.journal.logger(),
		Store:   store,
		Now:     st.now,
		Differs: st.differs,
	})
	if err != nil {
		return nil, fmt.Errorf("the app does not build: %w", err)
	}
	return server, nil
}

// now returns the time of the servers' clock.
func (st *testServer) now() time.Time { return time.Now().Add(time.Duration(st.skew.Load())) }

func (st *testServer) start(t testing.TB, server *framework.Server) error {
	if err := server.Start(asWorker(t.Context())); err != nil {
		return fmt.Errorf("the server does not start: %w", err)
	}
	t.Cleanup(func() {
		t.Helper()
		st.shutdown(t, server)
	})
	return nil
}

// worker returns the node of the latest worker, which may be dead.
func (st *testServer) worker(t testing.TB, what string) *node {
	t.Helper()
	if len(st.workers) == 0 {
		t.Fatalf("testkit: %s needs the testkit's own store, and the app has another: give the session Store(...), which wins over it", what)
	}
	w := st.workers[len(st.workers)-1]
	if w.c.queue() == nil {
		t.Fatalf("testkit: %s needs a store whose tasks are a task.Queue", what)
	}
	return w
}

// crash ends the worker, and waits a moment for its handlers to end.
func (st *testServer) crash(t testing.TB) {
	t.Helper()
	st.mu.Lock()
	defer st.mu.Unlock()
	w := st.worker(t, "Crash")
	if w.life.Err() != nil {
		t.Fatalf("testkit: Crash, but there is no worker since the last one: call Resume first")
	}
	w.crash()
	timer := time.NewTimer(lastWords)
	defer timer.Stop()
	select {
	case <-w.idle():
	case <-timer.C:
	}
}

// resume starts another worker.
func (st *testServer) resume(t testing.TB) {
	t.Helper()
	st.mu.Lock()
	defer st.mu.Unlock()
	dead := st.worker(t, "Resume")
	if dead.life.Err() == nil {
		t.Fatalf("testkit: Resume without Crash")
	}
	app := st.app
	if st.source != nil {
		app = st.source()
	}
	worker := dead.c.join(t.Context())
	t.Cleanup(worker.kill)
	err := st.labeled(t, func() error {
		server, err := st.build(on(app, worker), nil)
		if err != nil {
			return err
		}
		return st.start(t, server)
	})
	st.workers = append(st.workers, worker)
	if err = errors.Join(err, dead.lapse(t.Context())); err != nil {
		t.Fatalf("testkit: Resume: %v", err)
	}
	for _, n := range st.workers {
		n.replaced()
	}
}

// shutdown ends a server. If it does not end, the failure shows the handlers that still run.
func (st *testServer) shutdown(t testing.TB, server *framework.Server) {
	t.Helper()
	if err := shutdown(t, server, st.timeout); err != nil {
		t.Errorf("testkit: the server does not shut down: %v%s", err, atWork(goroutinesOf(st.label)))
	}
}

// shutdown ends a server. It soon cancels running handlers, because no client waits for them any
// more. A task that would take hours must not delay the test. If a handler ignores the
// cancellation, shutdown returns an error.
func shutdown(t testing.TB, server *framework.Server, patience time.Duration) (err error) {
	if t.Failed() {
		patience = lastWords // the reason of the failure may also be why a handler hangs
	}
	for _, d := range []time.Duration{lastWords, patience} { // the first Shutdown cancels handlers that still run at its end; the second waits for them
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), d)
		err = server.Shutdown(ctx)
		cancel()
	}
	return err
}

// differs records that a handler did not repeat its questions and effects when it ran again with
// the same answers.
func (st *testServer) differs(what string) {
	fault := strings.TrimRight(what, "\n")
	if who := st.speaker.Load(); who != nil {
		fault += "\nsent: " + who.lastSent()
	}
	st.fault.note(fault)
}

// fault holds the first failure in a goroutine of the server or the client. note sets it, and the
// test's goroutine takes it; mu guards it.
type fault struct {
	mu    sync.Mutex // guards first
	first string
}

func (f *fault) note(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first == "" {
		f.first = what
	}
}

// take removes and returns the failure, or "" if there is none.
func (f *fault) take() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	what := f.first
	f.first = ""
	return what
}

// appOf returns the app, and a function that makes fresh ones. If the source is one app, the
// function is nil.
func appOf[A AppSource](t testing.TB, source A) (app *framework.App, fresh func() *framework.App) {
	t.Helper()
	var makes func() *framework.App
	switch source := any(source).(type) {
	case func() *framework.App:
		makes = source
	case func(testing.TB) *framework.App:
		if source != nil {
			makes = func() *framework.App { return source(t) }
		}
	case *framework.App:
		if source == nil {
			t.Fatalf("testkit: the app is nil")
		}
		return source, nil
	}
	if makes == nil {
		t.Fatalf("testkit: the function that makes the app is nil")
	}
	fresh = func() *framework.App {
		t.Helper()
		made := makes()
		if made == nil {
			t.Fatalf("testkit: the function that makes the app returned nil")
		}
		return made
	}
	return fresh(), fresh
}
