package mcpfx

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/mcpfx/internal/unserved"
	"github.com/kagami-mcp/kagami/transport"
)

// serving holds the values that fx passes to serve.
type serving struct {
	fx.In

	Lifecycle fx.Lifecycle
	Shutdown  fx.Shutdowner
	Build     assembly
	Routes    []route        `group:"kagami.routes"`
	Unserved  *unserved.Mark `optional:"true"`
}

// serve builds the server and appends its hooks to fx's life cycle. fx.New calls it. If Build
// fails, serve returns its error unchanged.
func (m *module) serve(in serving) error {
	if in.Unserved != nil {
		return nil
	}
	server, err := in.Build()
	if err != nil {
		return err
	}
	if len(m.carriers) == 0 {
		return fmt.Errorf("the server %q has nothing to serve on: add mcpfx.HTTP(addr), mcpfx.Stdio() or mcpfx.Worker() to mcpfx.Module, "+
			"or mcpfx.Mounted() if the program mounts it by itself", m.name)
	}
	r := &run{server: server, routes: in.Routes, shutdown: in.Shutdown}
	for _, by := range m.carriers {
		t, err := by(r)
		if err != nil {
			return err
		}
		r.carriers = append(r.carriers, t)
	}
	in.Lifecycle.Append(fx.Hook{OnStart: r.start, OnStop: r.stop})
	return nil
}

// run is one run of the server. fx calls start and stop, one after the other. start runs Serve in a
// goroutine, which sets err and then closes ended; err may be read after that. After a successful
// start, watch waits for ended in another goroutine, and stop waits for both. A second start fails,
// because a server is served once.
type run struct {
	server   *framework.Server
	routes   []route
	carriers []transport.Transport
	opening  []<-chan struct{} // each is closed when its address is open
	shutdown fx.Shutdowner
	stdio    bool // one of the carriers is Stdio

	cancel  context.CancelFunc // ends the context of Serve; set by start
	ended   chan struct{}      // closed when Serve has returned; set by start
	err     error              // error of Serve; written before ended is closed
	watched sync.WaitGroup
}

// start starts to serve, and returns when every transport accepts requests. ctx limits only the
// start. If it fails, start waits for the end of Serve.
func (r *run) start(ctx context.Context) error {
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.cancel, r.ended = cancel, make(chan struct{}) // fx may start the program again
	go func() {
		defer close(r.ended)
		r.err = r.server.Serve(serving, r.carriers...)
	}()
	unlimited := context.AfterFunc(ctx, cancel) // the functions of OnStart get serving, which outlives ctx
	err := r.opened(ctx)
	if started := r.server.Start(serving); err == nil && started != nil {
		err = r.await(ctx, nil)
	}
	if !unlimited() && err == nil {
		err = fmt.Errorf("starting to serve: %w", context.Cause(ctx))
	}
	if err == nil {
		r.watched.Go(func() { r.watch(serving) })
		return nil
	}
	cancel()
	<-r.ended
	return cmp.Or(r.err, err)
}

// opened waits until all addresses are open.
func (r *run) opened(ctx context.Context) error {
	for _, open := range r.opening {
		if err := r.await(ctx, open); err != nil {
			return err
		}
	}
	return nil
}

// await waits for open or for the end of Serve, and returns the error of Serve. The error is nil if
// the server has already served to its end, for example for a client that closed its input at once.
func (r *run) await(ctx context.Context, open <-chan struct{}) error {
	select {
	case <-open:
		return nil
	case <-r.ended:
		return r.err
	case <-ctx.Done():
		return fmt.Errorf("starting to serve: %w", context.Cause(ctx))
	}
}

// watch ends the program when the server ends by itself.
func (r *run) watch(serving context.Context) {
	<-r.ended
	if serving.Err() != nil {
		return // stop was called
	}
	code := 0
	if r.err != nil {
		code = 1
		r.server.Logger().Error("the server has ended", zap.String("error", r.err.Error()))
	}
	_ = r.shutdown.Shutdown(fx.ExitCode(code)) // fails if the program already ends
}

// stop shuts the server down. Running calls may finish within three quarters of the time that ctx
// leaves. fx runs no hook after the end of ctx, so the rest is for the hooks that follow.
func (r *run) stop(ctx context.Context) error {
	if end, limited := ctx.Deadline(); limited {
		var done context.CancelFunc
		ctx, done = context.WithDeadline(ctx, end.Add(-time.Until(end)/4))
		defer done()
	}
	r.cancel()
	err := r.server.Shutdown(ctx)
	<-r.ended
	r.watched.Wait()
	return err
}
