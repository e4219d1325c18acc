package mcpfx_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/mcpfx"
	"github.com/kagami-mcp/kagami/testkit"
)

// listed is what a client sees of the app, and what a call went through.
func listed(t *testing.T, app *framework.App, seen *[]string) (tools, chain []string) {
	t.Helper()
	s := testkit.New(t, app)
	for _, tool := range s.Tools() {
		tools = append(tools, tool.Name)
	}
	*seen = nil
	s.CallRaw("price", `{}`).OK()
	return tools, slices.Clone(*seen)
}

const many = 100

// one is a provider; its parameters make each a type of its own.
type one[A, B any] struct{ name string }

func (o one[A, B]) Components() []framework.Component {
	return []framework.Component{framework.Tool(o.name, (&billing{}).Price)}
}

// hundred are as many constructors of as many types.
func hundred() fx.Option {
	return mcpfx.Provide(slices.Concat(
		ten[int8](), ten[int16](), ten[int32](), ten[int64](), ten[int](),
		ten[uint8](), ten[uint16](), ten[uint32](), ten[uint64](), ten[uint](),
	)...)
}

func ten[A any]() []any {
	return []any{
		made[A, int8], made[A, int16], made[A, int32], made[A, int64], made[A, int],
		made[A, uint8], made[A, uint16], made[A, uint32], made[A, uint64], made[A, uint],
	}
}

func made[A, B any](*zap.Logger) one[A, B] {
	return one[A, B]{fmt.Sprintf("%T_%T", *new(A), *new(B))}
}

// each is how many allocations more a component may cost a program of fx at its start than a
// plain one: 436, and 480 with the race detector, nearly all of them fx's own for a constructor
// and its type. How long that takes says BenchmarkStart: a busy machine cannot be held to it.
const each = 500

func TestStartIsCheap(t *testing.T) {
	plain := testing.AllocsPerRun(3, func() { plainStart(t) })
	wired := testing.AllocsPerRun(3, func() { wiredStart(t) })
	if got := (wired - plain) / many; got > each {
		t.Errorf("%.0f allocations more for each of %d components, documented are at most %d", got, many, each)
	}
}

func BenchmarkStart(b *testing.B) {
	for name, start := range map[string]func(testing.TB) time.Duration{"plain": plainStart, "fx": wiredStart} {
		b.Run(name, func(b *testing.B) {
			var took time.Duration // without the end
			for b.Loop() {
				took += start(b)
			}
			b.ReportMetric(took.Seconds()*1000/float64(b.N), "ms/start")
		})
	}
}

func plainStart(t testing.TB) time.Duration {
	t.Helper()
	began := time.Now()
	app := framework.New("shop", "1.0.0", framework.WithLogger(zap.NewNop()))
	for i := range many {
		app.Add(framework.Tool(fmt.Sprint("tool", i), (&billing{}).Price))
	}
	server, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	if err := server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	return took
}

func wiredStart(t testing.TB) time.Duration {
	t.Helper()
	began := time.Now()
	app := fx.New(mcpfx.Module("shop", "1.0.0", mcpfx.HTTP("127.0.0.1:0")), fx.Supply(zap.NewNop()), hundred())
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	if err := app.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	return took
}
