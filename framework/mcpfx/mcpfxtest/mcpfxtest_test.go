package mcpfxtest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/fx"
	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/mcpfx"
	"github.com/kagami-mcp/kagami/framework/mcpfx/mcpfxtest"
	"github.com/kagami-mcp/kagami/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Rates is what the program under test asks.
type Rates interface{ Rate() int }

type fixed int

func (f fixed) Rate() int { return int(f) }

type billing struct{ rates Rates }

func newBilling(rates Rates) *billing { return &billing{rates} }

func (b *billing) Components() []framework.Component {
	return []framework.Component{framework.Tool("rate", func(context.Context, struct{}) (string, error) {
		return fmt.Sprint(b.rates.Rate()), nil
	})}
}

// program opens a connection that no test has.
func program() fx.Option {
	return fx.Options(
		mcpfx.Module("billing", "1.0.0", mcpfx.HTTP("198.51.100.1:1")),
		mcpfx.Provide(newBilling),
		fx.Provide(func() (Rates, error) { return nil, errors.New("no network") }),
		fx.Provide(func() fixed { return 7 }))
}

func TestReplace(t *testing.T) {
	t.Parallel()
	app := func(t testing.TB) *framework.App {
		return mcpfxtest.App(t, program(), mcpfxtest.Replace[Rates](fixed(3)))
	}
	testkit.BothEras(t, app, func(_ *testing.T, s *testkit.Session) {
		s.CallRaw("rate", `{}`).OK().Mentions("3")
	})
	own := mcpfxtest.App(t, program(), mcpfxtest.Replace(newBilling(fixed(5))))
	testkit.New(t, own).CallRaw("rate", `{}`).OK().Mentions("5")
}

// What the program's options start runs, and ends with the test.
func TestStartsAndStops(t *testing.T) {
	var seen []string
	t.Run("inside", func(t *testing.T) {
		hooks := fx.Invoke(func(lc fx.Lifecycle) {
			lc.Append(fx.StartStopHook(func() { seen = append(seen, "started") }, func() { seen = append(seen, "stopped") }))
		})
		mcpfxtest.App(t, program(), mcpfxtest.Replace[Rates](fixed(3)), hooks)
		if len(seen) != 1 {
			t.Errorf("%v", seen)
		}
	})
	if strings.Join(seen, " ") != "started stopped" {
		t.Errorf("%v", seen)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts []fx.Option
		want []string
	}{
		"unused": {
			[]fx.Option{program(), mcpfxtest.Replace[Rates](fixed(3)), mcpfxtest.Replace[fixed](4), mcpfxtest.Replace[error](nil)},
			[]string{"takes a mcpfxtest_test.fixed", "takes a error", "mcpfxtest_test.go:"},
		},
		"no module":       {[]fx.Option{fx.Provide(func() int { return 1 })}, []string{"no mcpfx.Module"}},
		"does not start":  {[]fx.Option{program()}, []string{"does not start", "no network"}},
		"does not stop":   {[]fx.Option{program(), mcpfxtest.Replace[Rates](fixed(3)), stuck()}, []string{"does not stop", "stuck"}},
		"a missing value": {[]fx.Option{program(), mcpfxtest.Replace[Rates](fixed(3)), mcpfx.Provide(func(int) *other { return nil })}, []string{"missing type", "int"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := watch(t, func(tb testing.TB) { mcpfxtest.App(tb, c.opts...) })
			for _, w := range c.want {
				if !strings.Contains(said, w) {
					t.Errorf("no %q in %q", w, said)
				}
			}
		})
	}
}

type other struct{}

func (*other) Components() []framework.Component { return nil }

func stuck() fx.Option {
	return fx.Invoke(func(lc fx.Lifecycle) {
		lc.Append(fx.StopHook(func() error { return errors.New("stuck") }))
	})
}

// watch is what a test of its own says about its failure.
func watch(t *testing.T, body func(testing.TB)) string {
	t.Helper()
	w := &watched{TB: t}
	done := make(chan struct{})
	go func() { // Fatalf ends its goroutine
		defer close(done)
		body(w)
	}()
	<-done
	for _, clean := range w.cleanups {
		clean()
	}
	return strings.Join(w.said, "\n")
}

type watched struct {
	testing.TB
	said     []string
	cleanups []func()
}

func (w *watched) Errorf(format string, args ...any) {
	w.said = append(w.said, fmt.Sprintf(format, args...))
}
func (w *watched) Cleanup(fn func()) { w.cleanups = append(w.cleanups, fn) }
func (w *watched) Fatalf(format string, args ...any) {
	w.Errorf(format, args...)
	runtime.Goexit()
}
