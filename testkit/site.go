package testkit

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/rehearsal"
)

// site is a server under test, with what makes others like it.
type site struct {
	server  *framework.Server
	app     *framework.App
	source  func() *framework.App // a fresh app each time; nil: there is one app only
	skew    *atomic.Int64         // added to the server's clock, in nanoseconds
	timeout time.Duration
	journal *journal // what apps log that have no logger of their own

	mu      sync.Mutex // guards workers, and Crash against Resume
	workers []*node    // those of the dead, and the one that runs tasks; nil: the app's own store does
}

// newSite builds and starts a server that ends with the test.
func newSite[A AppSource](t testing.TB, source A, c config) *site {
	t.Helper()
	app, fresh := appOf(t, source)
	st := &site{app: app, source: fresh, skew: &atomic.Int64{}, timeout: c.timeout, journal: newJournal(t)}
	st.watchGoroutines(t, c.leaks)
	st.labelled(t, func() { st.open(t, c.store) })
	return st
}

// open builds the server. Its tasks are kept where they outlive a worker, unless the
// app says where they are.
func (st *site) open(t testing.TB, store framework.Store) {
	t.Helper()
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
	st.server = st.build(t, app, func() rehearsal.Store { return join() })
	st.start(t, st.server)
}

// on is the app with a store, and leaves the app as it is: it may be another test's, too.
func on(app *framework.App, store framework.Store) *framework.App {
	own := *app
	return own.UseStore(store)
}

// build makes a server; store is for an app that has none.
func (st *site) build(t testing.TB, app *framework.App, store func() rehearsal.Store) *framework.Server {
	t.Helper()
	server, err := app.BuildFor(&rehearsal.Stage{
		Logger:  st.journal.logger(),
		Store:   store,
		Now:     func() time.Time { return time.Now().Add(time.Duration(st.skew.Load())) },
		Differs: differs(t),
	})
	if err != nil {
		t.Fatalf("testkit: the app does not build: %v", err)
	}
	return server
}

func (st *site) start(t testing.TB, server *framework.Server) {
	t.Helper()
	if err := server.Start(asWorker(t.Context())); err != nil {
		t.Fatalf("testkit: the server does not start: %v", err)
	}
	t.Cleanup(func() { shutdown(t, server, st.timeout) })
}

// worker is the one that runs tasks, or that did before it died.
func (st *site) worker(t testing.TB, what string) *node {
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

// crash ends the worker, and gives its handlers a moment to notice.
func (st *site) crash(t testing.TB) {
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
func (st *site) resume(t testing.TB) {
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
	st.labelled(t, func() { st.start(t, st.build(t, on(app, worker), nil)) })
	st.workers = append(st.workers, worker)
	if err := dead.lapse(t.Context()); err != nil {
		t.Fatalf("testkit: Resume: %v", err)
	}
	for _, n := range st.workers {
		n.replaced()
	}
}

func shutdown(t testing.TB, server *framework.Server, timeout time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), timeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		t.Errorf("testkit: the server does not shut down: %v", err)
	}
}

// differs fails the test for a handler that is no function of its answers.
func differs(t testing.TB) func(what string) {
	return func(what string) { t.Errorf("testkit: %s", what) }
}

// appOf is the app, and what makes fresh ones where the source can.
func appOf[A AppSource](t testing.TB, source A) (app *framework.App, fresh func() *framework.App) {
	switch source := any(source).(type) {
	case func() *framework.App:
		fresh = source
	case func(testing.TB) *framework.App:
		fresh = func() *framework.App { return source(t) }
	case *framework.App:
		return source, nil
	}
	return fresh(), fresh
}
