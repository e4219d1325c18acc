package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// budgets are the allocations of one exchange through the engine alone. Three are the
// fake catalog's result, but for ping. The engine's are: the exchange with all that
// belongs to it, the params, and the name in them; for progress the _meta and the token.
// Raise one only with a reason.
var budgets = []struct {
	name, frame string
	most        float64
}{
	{"ping", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 2},
	{"tools/call", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":1}}}`, 6},
	{"tools/call with progress token", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":1},"_meta":{"progressToken":"p"}}}`, 8},
	{"tools/call 2026-07-28", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":1},` + modernMeta + `}}`, 6},
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
			if all > tt.most && !raceEnabled {
				t.Errorf("%.0f allocations, want at most %.0f", all, tt.most)
			}
		})
	}
}

// What comes by an HTTP request of its own has the context of its answer in the exchange.
func TestPostedAllocations(t *testing.T) {
	for _, tt := range postings() {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, tt.session)
			ctx := transport.WithRequest(t.Context(), &transport.Request{Fields: tt.fields, Sessions: s})
			all := testing.AllocsPerRun(200, func() {
				x, err := s.e.Accept(ctx, tt.frame)
				if err != nil {
					t.Fatal(err)
				}
				if err := x.Serve(ctx, discard); err != nil {
					t.Fatal(err)
				}
			})
			t.Logf("%s: %.0f allocations", tt.name, all)
			if all > tt.most && !raceEnabled {
				t.Errorf("%.0f allocations, want at most %.0f", all, tt.most)
			}
		})
	}
}

// BenchmarkPosted is in parallel: what all requests share must not slow them down.
func BenchmarkPosted(b *testing.B) {
	for _, tt := range postings() {
		b.Run(tt.name, func(b *testing.B) {
			s := newSite(b, tt.session)
			ctx := transport.WithRequest(b.Context(), &transport.Request{Fields: tt.fields, Sessions: s})
			b.ReportAllocs()
			var clients atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				frame := bytes.Replace(tt.frame, []byte(`"id":1`), fmt.Appendf(nil, `"id":%d`, clients.Add(1)), 1)
				for pb.Next() {
					x, _ := s.e.Accept(ctx, frame)
					_ = x.Serve(ctx, discard)
				}
			})
		})
	}
}

type posting struct {
	name, session string
	frame         []byte
	fields        transport.HeaderFields
	most          float64
}

func postings() []posting {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":1}`
	return []posting{
		{"2025-11-25", "2025-11-25", []byte(call + `}}`), transport.HeaderFields{"Mcp-Protocol-Version": {"2025-11-25"}}, 6},
		{
			"2026-07-28", "",
			[]byte(call + `,` + modernMeta + `}}`),
			transport.HeaderFields{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"echo"}},
			9, // three more are the fake catalog's
		},
	}
}

var discard = transport.OutboundFunc(func(context.Context, transport.Frame) error { return nil })

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
	return p.ctx, p.e, discard
}

// reporting is a tool that reports progress n times.
type reporting struct{ n int }

func (r *reporting) handle(ctx context.Context, c *engine.Call) (protocol.Result, error) {
	total := float64(r.n)
	for i := range r.n {
		c.Progress(ctx, float64(i+1), &total, "working")
	}
	return text("done"), nil
}

const reportingFrame = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"report","_meta":{"progressToken":"p"}}}`

func reporter(t testing.TB) (context.Context, *engine.Engine, *reporting) {
	t.Helper()
	r := &reporting{}
	p := connect(t, newEngine(t, catalog{"report": r.handle}))
	p.initialize("2025-11-25", `{}`)
	return p.ctx, p.e, r
}

// A report of progress costs no memory of its own.
func TestProgressAllocations(t *testing.T) {
	ctx, e, r := reporter(t)
	cost := func(reports int) float64 {
		r.n = reports
		return testing.AllocsPerRun(20, func() {
			x, err := e.Accept(ctx, []byte(reportingFrame))
			if err != nil {
				t.Fatal(err)
			}
			if err := x.Serve(ctx, discard); err != nil {
				t.Fatal(err)
			}
		})
	}
	if each := (cost(1001) - cost(1)) / 1000; each >= 1 {
		t.Errorf("%.2f allocations for each report", each)
	}
}

func BenchmarkProgress(b *testing.B) {
	ctx, e, r := reporter(b)
	r.n = b.N
	b.ReportAllocs()
	serve(ctx, b, e, []byte(reportingFrame))
}
