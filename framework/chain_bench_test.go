package framework

import (
	"context"
	"encoding/json"
	"testing"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/transport"
)

// insideCall runs fn in the context of a call of a real server: what steps look up is
// as far away as it is there.
func insideCall(tb testing.TB, fn func(ctx context.Context, call *Call)) {
	tb.Helper()
	reached := false
	app := New("test", "1", WithLogger(zap.NewNop())).Add(Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
		reached = true
		h := callCtxFrom(ctx)
		fn(ctx, &Call{Method: h.method(), Name: "t", Arguments: json.RawMessage(`{}`), ID: h.callID(), Component: h.component.info})
		return "", nil
	}))
	s, err := app.Build()
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = s.Shutdown(context.Background()) }()
	ctx := transport.Connect(tb.Context(), transport.Peer{Carrier: "test"})
	x, err := s.Accept(ctx, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
	if err != nil {
		tb.Fatal(err)
	}
	if err := x.Serve(ctx, transport.OutboundFunc(func(context.Context, transport.Frame) error { return nil })); err != nil {
		tb.Fatal(err)
	}
	if !reached {
		tb.Fatal("the call did not reach its tool")
	}
}

// chainOf is a chain of n steps that do nothing.
func chainOf(n int) Handler {
	answer := &Result{Body: &protocol.CallToolResult{}}
	pass := Middleware{Name: "pass", Wrap: func(next Handler) Handler {
		return func(ctx context.Context, call *Call) (*Result, error) { return next(ctx, call) }
	}}
	steps := make([]Middleware, n)
	for i := range steps {
		steps[i] = pass
	}
	return compose(func(context.Context, *Call) (*Result, error) { return answer, nil }, arranged(kindTool, steps, nil, nil), nil)
}

// A chain of five costs nothing but its steps: under 300 ns, and no allocation.
func BenchmarkChainOfFive(b *testing.B) {
	run := chainOf(5)
	insideCall(b, func(ctx context.Context, call *Call) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := run(ctx, call); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func TestChainAllocatesNothing(t *testing.T) {
	run := chainOf(5)
	insideCall(t, func(ctx context.Context, call *Call) {
		for name, fn := range map[string]func(){
			"a chain of five": func() {
				if _, err := run(ctx, call); err != nil {
					t.Error(err)
				}
			},
			"CallerLite":      func() { _ = CallerLite(ctx) },
			"RedactArguments": func() { _, _ = RedactArguments(ctx, call.Arguments) },
			"OutcomeOf":       func() { _ = OutcomeOf(ctx, &Result{}, nil) },
		} {
			if got := testing.AllocsPerRun(100, fn); got != 0 {
				t.Errorf("%s makes %v allocations", name, got)
			}
		}
	})
}
