package engine_test

import (
	"context"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// budgets are the allocations of one exchange through the engine alone, the fake
// catalog's result included. Raise one only with a reason.
var budgets = []struct {
	name, frame string
	most        float64
}{
	{"ping", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 11},
	{"tools/call", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":1}}}`, 16},
	{"tools/call with progress token", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":1},"_meta":{"progressToken":"p"}}}`, 18},
	{"tools/call 2026-07-28", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":1},` + modernMeta + `}}`, 19},
}

func TestAllocations(t *testing.T) {
	ctx, e, frames := allocationPeer(t)
	for _, tt := range budgets {
		t.Run(tt.name, func(t *testing.T) {
			frame := []byte(tt.frame)
			all := testing.AllocsPerRun(200, func() {
				x, err := e.Accept(ctx, frame)
				if err != nil {
					t.Fatal(err)
				}
				if err := x.Serve(ctx, frames); err != nil {
					t.Fatal(err)
				}
			})
			t.Logf("%s: %.0f allocations", tt.name, all)
			if all > tt.most {
				t.Errorf("%.0f allocations, want at most %.0f", all, tt.most)
			}
		})
	}
}

func BenchmarkExchange(b *testing.B) {
	ctx, e, out := allocationPeer(b)
	for _, tt := range budgets {
		b.Run(tt.name, func(b *testing.B) {
			frame := []byte(tt.frame)
			b.ReportAllocs()
			for b.Loop() {
				x, _ := e.Accept(ctx, frame)
				_ = x.Serve(ctx, out)
			}
		})
	}
}

func allocationPeer(t testing.TB) (context.Context, *engine.Engine, transport.Outbound) {
	t.Helper()
	p := connect(t, newEngine(t, catalog{"echo": echo}))
	p.initialize("2025-11-25", `{}`)
	discard := transport.OutboundFunc(func(context.Context, []byte) error { return nil })
	return p.ctx, p.e, discard
}
