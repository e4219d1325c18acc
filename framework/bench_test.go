package framework_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport"
)

const callFrame = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"go","limit":3},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

const listFrame = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

func roundTrip(tb testing.TB, s *framework.Server, frame string) func() {
	ctx := transport.Connect(tb.Context(), transport.Peer{Carrier: "test"})
	sink := transport.OutboundFunc(func(context.Context, transport.Frame) error { return nil })
	return func() {
		x, err := s.Accept(ctx, []byte(frame))
		if err != nil {
			tb.Fatal(err)
		}
		if err := x.Serve(ctx, sink); err != nil {
			tb.Fatal(err)
		}
	}
}

func manyTools(n int) *framework.App {
	app := quiet().Add(framework.Tool("search", search, framework.Describe("Search")))
	for i := range n - 1 {
		app.Add(framework.Tool(fmt.Sprintf("tool%d", i), search, framework.Describe("Search")))
	}
	return app
}

// TestAllocations of whole exchanges, engine and dialect included, so that a
// growth shows: 10 for a small call, two of them the function's own, and 5 for a page
// of 100 tools with a cursor.
func TestAllocations(t *testing.T) {
	s := build(t, manyTools(200))
	for name, tt := range map[string]struct {
		frame string
		most  float64
	}{"tools/call": {callFrame, 11}, "tools/list": {listFrame, 6}} {
		if got := testing.AllocsPerRun(200, roundTrip(t, s, tt.frame)); got > tt.most && !raceEnabled {
			t.Errorf("%s makes %v allocations, documented are at most %v", name, got, tt.most)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	s, err := manyTools(200).Build()
	if err != nil {
		b.Fatal(err)
	}
	run := roundTrip(b, s, callFrame)
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
}

// BenchmarkCallAmong many tools: the cost must not grow.
func BenchmarkCallAmong(b *testing.B) {
	for _, n := range []int{10, 100, 1_000} {
		s, err := manyTools(n).Build()
		if err != nil {
			b.Fatal(err)
		}
		run := roundTrip(b, s, callFrame)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				run()
			}
		})
	}
}

func BenchmarkList(b *testing.B) {
	s, err := manyTools(200).Build()
	if err != nil {
		b.Fatal(err)
	}
	run := roundTrip(b, s, listFrame)
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
}

func BenchmarkBuild(b *testing.B) {
	app := manyTools(200)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := app.Build(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTypedCall is decode, validation and the function alone.
func BenchmarkTypedCall(b *testing.B) {
	tool := framework.Tool("search", search)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tool.Call(b.Context(), searchIn{Query: "go", Limit: 3}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRound is a call that asks one question and is answered, both requests;
// beside it a call that asks nothing.
func BenchmarkRound(b *testing.B) {
	s := build(b, quiet().Add(
		framework.Tool("none", func(context.Context, struct{}) (bool, error) { return true, nil }),
		framework.Tool("one", func(ctx context.Context, _ struct{}) (bool, error) { return framework.Elicit[bool](ctx, "sure?") }),
	))
	p := dial(b, s, protocol.Rev20260728, withCaps(all))
	b.Run("none", func(b *testing.B) {
		for b.Loop() {
			p.call("tools/call", `{"name":"none","arguments":{}}`)
		}
	})
	b.Run("one", func(b *testing.B) {
		a := &asker{peer: p, answer: func(string, question) string { return said("true") }}
		for b.Loop() {
			a.do("tools/call", `{"name":"one","arguments":{}}`)
		}
	})
}

const reportFrame = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"report","arguments":{"n":%d},"_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

type reportIn struct {
	N int `json:"n"`
}

func report(ctx context.Context, in reportIn) (string, error) {
	for i := range in.N {
		framework.Progress(ctx, i+1, in.N, "working")
	}
	return "done", nil
}

// A report of progress costs no memory of its own. With the race detector on, pools
// forget some of what they are given.
func TestProgressAllocations(t *testing.T) {
	s := build(t, quiet().Add(framework.Tool("report", report, framework.Describe("Report"))))
	one := testing.AllocsPerRun(20, roundTrip(t, s, fmt.Sprintf(reportFrame, 1)))
	many := testing.AllocsPerRun(20, roundTrip(t, s, fmt.Sprintf(reportFrame, 1001)))
	if each := (many - one) / 1000; each >= 1 {
		t.Errorf("%.2f allocations for each report", each)
	}
}

func BenchmarkProgress(b *testing.B) {
	s := build(b, quiet().Add(framework.Tool("report", report, framework.Describe("Report"))))
	b.ReportAllocs()
	roundTrip(b, s, fmt.Sprintf(reportFrame, b.N))()
}
