package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// BenchmarkGrowth is one call while there are ever more of what else an engine serves:
// its cost must not grow with them.
func BenchmarkGrowth(b *testing.B) {
	for name, fill := range map[string]func(*grown, *testing.B, int){
		"sessions": (*grown).sessions, "listeners": (*grown).listeners, "in flight": (*grown).inFlight,
	} {
		for _, n := range []int{100, 10_000, 100_000} {
			b.Run(name+"/"+strconv.Itoa(n), func(b *testing.B) {
				g := grow(b)
				fill(g, b, n)
				frame := []byte(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"echo","arguments":{"a":1}}}`)
				b.ReportAllocs()
				for b.Loop() {
					serve(g.ctx, b, g.e, frame)
				}
			})
		}
	}
}

// BenchmarkUpdated tells one of ever more subscribers: what the others are must not matter.
func BenchmarkUpdated(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			g := grow(b)
			heard := make(chan struct{}, 1)
			ctx := transport.Connect(b.Context(), transport.Peer{Out: transport.OutboundFunc(func(_ context.Context, frame transport.Frame) error {
				if bytes.Contains(frame.JSON, []byte(`"notifications/resources/updated"`)) {
					heard <- struct{}{}
				}
				return nil
			})})
			serve(ctx, b, g.e, []byte(initializeFrame))
			serve(ctx, b, g.e, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
			serve(ctx, b, g.e, []byte(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://r/mine"}}`))
			g.subscribers(b, n)
			b.ReportAllocs()
			for b.Loop() {
				g.e.Updated("test://r/mine")
				<-heard
			}
		})
	}
}

// grown is an engine with one session that calls, and others.
type grown struct {
	e    *engine.Engine
	ctx  context.Context // the connection that calls
	hold chan struct{}
}

func grow(b *testing.B) *grown {
	b.Helper()
	g := &grown{hold: make(chan struct{})}
	held := func(context.Context, *engine.Call) (protocol.Result, error) { <-g.hold; return text("late"), nil }
	g.e = engine.New(engine.Config{
		Info: protocol.Implementation{Name: "s", Version: "1"}, Catalog: catalog{"echo": echo, "held": held}, MaxInFlight: 1 << 20,
	})
	b.Cleanup(func() { close(g.hold); _ = g.e.Shutdown(context.WithoutCancel(b.Context())) })
	g.ctx = g.open(b)
	return g
}

func serve(ctx context.Context, b *testing.B, e *engine.Engine, frame []byte) {
	b.Helper()
	x, err := e.Accept(ctx, frame)
	if err != nil {
		b.Fatal(err)
	}
	_ = x.Serve(ctx, discard)
}

func (g *grown) open(b *testing.B) context.Context {
	b.Helper()
	ctx := transport.Connect(b.Context(), transport.Peer{Out: discard})
	serve(ctx, b, g.e, []byte(initializeFrame))
	return ctx
}

const initializeFrame = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

func (g *grown) subscribers(b *testing.B, n int) {
	for i := range n {
		serve(g.open(b), b, g.e, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://r/%d"}}`, i))
	}
}

func (g *grown) sessions(b *testing.B, n int) {
	for range n {
		g.open(b)
	}
}

func (g *grown) listeners(b *testing.B, n int) {
	ctx := transport.Connect(b.Context(), transport.Peer{Out: discard})
	for i := range n {
		g.begin(ctx, b, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},%s}}`, i, modernMeta))
	}
}

func (g *grown) inFlight(b *testing.B, n int) {
	for i := range n {
		g.begin(g.ctx, b, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"held"}}`, i))
	}
}

// begin serves a frame that does not end.
func (g *grown) begin(ctx context.Context, b *testing.B, frame string) {
	b.Helper()
	x, err := g.e.Accept(ctx, []byte(frame))
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = x.Serve(ctx, discard) }() // ends with the benchmark
}
