package mcpfx

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/mcpfx/internal/unserved"
	"github.com/kagami-mcp/kagami/transport"
)

// serving are the values that fx gives to serve.
type serving struct {
	fx.In

	Lifecycle fx.Lifecycle
	Shutdown  fx.Shutdowner
	Build     assembly
	Routes    []route        `group:"kagami.routes"`
	Unserved  *unserved.Mark `optional:"true"`
}

// serve is what the module does in fx.New. Its error is the unchanged one of Build.
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
	r := &run{server: server, routes: in.Routes, shutdown: in.Shutdown, ended: make(chan struct{})}
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

// run is one run of the server.
type run struct {
	server   *framework.Server
	routes   []route
	carriers []transport.Transport
	opening  []<-chan struct{} // closed when an address is open
	shutdown fx.Shutdowner

	cancel  context.CancelFunc // set by start
	ended   chan struct{}      // closed when Serve has returned
	err     error              // of Serve; written before that
	watched sync.WaitGroup
}

// start returns when every carrier accepts requests. ctx bounds only that.
func (r *run) start(ctx context.Context) error {
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.cancel = cancel
	go func() {
		defer close(r.ended)
		r.err = r.server.Serve(serving, r.carriers...)
	}()
	err := r.opened(ctx)
	if started := r.server.Start(serving); err == nil && started != nil {
		err = r.outcome(ctx)
	}
	if err == nil {
		r.watched.Go(func() { r.watch(serving) })
		return nil
	}
	cancel()
	<-r.ended
	return cmp.Or(r.err, err)
}

// outcome waits for the end of Serve where the server did not start, and returns its error; nil: the
// server has served to its end already, as for a client that has closed its end at once.
func (r *run) outcome(ctx context.Context) error {
	select {
	case <-r.ended:
		return r.err
	case <-ctx.Done():
		return fmt.Errorf("starting to serve: %w", context.Cause(ctx))
	}
}

func (r *run) opened(ctx context.Context) error {
	for _, open := range r.opening {
		select {
		case <-open:
		case <-r.ended: // Serve has failed, and its error says why
			return r.err
		case <-ctx.Done():
			return fmt.Errorf("starting to serve: %w", context.Cause(ctx))
		}
	}
	return nil
}

// watch ends the program when the server ends by itself.
func (r *run) watch(serving context.Context) {
	<-r.ended
	if serving.Err() != nil {
		return // the server was told to end
	}
	code := 0
	if r.err != nil {
		code = 1
		r.server.Logger().Error("the server has ended", zap.String("error", r.err.Error()))
	}
	_ = r.shutdown.Shutdown(fx.ExitCode(code)) // it fails if the program was told to end before
}

// stop lets running calls finish until ctx ends.
func (r *run) stop(ctx context.Context) error {
	r.cancel()
	err := r.server.Shutdown(ctx)
	<-r.ended
	r.watched.Wait()
	return err
}
