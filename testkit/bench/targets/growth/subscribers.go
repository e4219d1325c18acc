package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/sample"
	"github.com/kagami-mcp/kagami/transport"
)

const (
	meta        = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	listenFrame = `{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["shelf000://all","shelf000://%d"]},` + meta + `}}`
	plainFrame  = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":3},` + meta + `}}`
)

// audience is some listeners and what they have heard.
type audience struct {
	server *framework.Server
	heard  atomic.Int64
	want   atomic.Int64
	all    sync.WaitGroup

	reached chan struct{} // once for each that wait waits for
}

type shelf struct {
	ID string `uri:"id"`
}

// subscribers are n that listen for a resource of their own and for one that all have.
func subscribers(ctx context.Context, n int) (found figures, err error) {
	app := newApp().Add(framework.ResourceTemplate(sample.Template(0), func(_ context.Context, in shelf) (string, error) {
		return sample.Page(in.ID), nil
	}))
	a := &audience{reached: make(chan struct{}, 1)}
	if a.server, err = app.Build(); err != nil {
		return nil, err
	}
	if err := a.server.Start(ctx); err != nil {
		return nil, err
	}
	before := live()
	listening, stop := context.WithCancel(ctx)
	defer func() { stop(); a.all.Wait(); err = errors.Join(err, a.server.Shutdown(ctx)) }()
	a.expect(n) // acknowledgements
	for i := range n {
		if err := a.listen(listening, i); err != nil {
			return nil, err
		}
	}
	if err := a.wait(ctx); err != nil {
		return nil, err
	}
	found = figures{"weight": (live() - before) / float64(n) / 1024}
	return found, a.measure(ctx, n, found)
}

func (a *audience) measure(ctx context.Context, n int, found figures) (err error) {
	// Subscribers are notified in batches, so that a batch takes long enough to be measured.
	all, err := each(max(1, batch/n), func() error { return a.tell(ctx, "shelf000://all", n) })
	if err != nil {
		return err
	}
	found["delivery"] = all / float64(n)
	next := 0
	found["one"], err = each(longer, func() error {
		next = (next + 7919) % n
		return a.tell(ctx, fmt.Sprintf("shelf000://%d", next), 1)
	})
	if err != nil {
		return err
	}
	found["same"], err = each(longer, func() error { return a.tell(ctx, "shelf000://0", 1) })
	if err != nil {
		return err
	}
	found["call"], err = each(longer, func() error { return a.call(ctx) })
	return err
}

// listen opens one stream, which counts what comes.
func (a *audience) listen(ctx context.Context, i int) error {
	ctx = transport.Connect(ctx, transport.Peer{Carrier: "growth"})
	x, err := a.server.Accept(ctx, fmt.Appendf(nil, listenFrame, i, i))
	if err != nil {
		return err
	}
	a.all.Go(func() {
		// It ends with ctx; what a server that stops says is not looked at.
		_ = x.Serve(ctx, transport.OutboundFunc(func(context.Context, transport.Frame) error {
			a.hear()
			return nil
		}))
	})
	return nil
}

// tell changes a resource, and waits until so many have heard.
func (a *audience) tell(ctx context.Context, uri string, n int) error {
	a.expect(n)
	a.server.ResourceUpdated(ctx, uri)
	return a.wait(ctx)
}

// expect says how much is to be heard before wait returns; wait follows.
func (a *audience) expect(more int) {
	a.want.Store(a.heard.Load() + int64(more))
}

func (a *audience) hear() {
	if a.heard.Add(1) == a.want.Load() {
		a.reached <- struct{}{}
	}
}

func (a *audience) wait(ctx context.Context) error {
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	select {
	case <-a.reached:
		return nil
	case <-late.C:
		return fmt.Errorf("%d of %d were heard", a.heard.Load(), a.want.Load())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *audience) call(ctx context.Context) error {
	ctx = transport.Connect(ctx, transport.Peer{Carrier: "growth"})
	x, err := a.server.Accept(ctx, []byte(plainFrame))
	if err != nil {
		return err
	}
	return x.Serve(ctx, transport.OutboundFunc(func(context.Context, transport.Frame) error { return nil }))
}
