// Package mcpfxtest builds an fx program's app for testkit, without its transports.
//
//	func app(t testing.TB) *framework.App {
//		return mcpfxtest.App(t, program(), mcpfxtest.Replace[Payments](fake))
//	}
//
//	func TestRefund(t *testing.T) {
//		testkit.BothEras(t, app, func(t *testing.T, s *testkit.Session) { ... })
//	}
//
// Everything that the program's options start runs, except the carriers. testkit builds
// servers of its own from the app: a part of the program that takes *framework.Server gets
// another one, which has no clients. Handlers find theirs by framework.ServerFrom.
package mcpfxtest

import (
	"context"
	"crypto/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/fx"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/internal/callsite"
	"github.com/kagami-mcp/kagami/framework/mcpfx/internal/unserved"
)

// graph has what App needs from the program.
type graph struct {
	fx.In

	App      *framework.App `optional:"true"` // a missing module has an error of its own
	Replaced []*replacement `group:"kagami.replaced"`
}

// App starts the program without serving and stops it at the end of the test. The test fails if
// the program does not start or stop, or if no constructor takes the value of a [Replace].
func App(t testing.TB, opts ...fx.Option) *framework.App {
	t.Helper()
	var got graph
	program := fx.New(
		fx.Options(opts...),
		fx.Supply(&unserved.Mark{}),
		fx.Invoke(func(g graph) { got = g }),
		fx.NopLogger, // errors are reported by the test
	)
	ctx, cancel := context.WithTimeout(t.Context(), program.StartTimeout())
	defer cancel()
	if err := program.Start(ctx); err != nil {
		t.Fatalf("mcpfxtest: the program does not start: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), program.StopTimeout())
		defer cancel()
		if err := program.Stop(ctx); err != nil {
			t.Errorf("mcpfxtest: the program does not stop: %v", err)
		}
	})
	if got.App == nil {
		t.Fatalf("mcpfxtest: the options have no mcpfx.Module")
	}
	slices.SortFunc(got.Replaced, func(a, b *replacement) int { return strings.Compare(a.at, b.at) })
	for _, r := range got.Replaced {
		if !r.used {
			t.Errorf("mcpfxtest: nothing in the program takes a %s: the Replace at %s changes nothing", r.what, r.at)
		}
	}
	return got.App
}

// replacement is one Replace.
type replacement struct {
	what string
	at   string
	used bool // fx asked for it
}

// Replace replaces a dependency with v. The constructor of the replaced dependency does not run. T
// is the type that constructors take, which may be an interface. The test fails if no constructor
// takes a T.
func Replace[T any](v T) fx.Option {
	what, at := reflect.TypeFor[T]().String(), callsite.Caller(1)
	tag := `name:"` + rand.Text() + `"` // each Replace knows its own
	return fx.Options(
		fx.Provide(
			fx.Annotate(func() *replacement {
				return &replacement{what: what, at: at}
			}, fx.ResultTags(tag)),
			fx.Annotate(func(r *replacement) *replacement { return r }, fx.ParamTags(tag), fx.ResultTags(`group:"kagami.replaced"`)),
		),
		fx.Decorate(fx.Annotate(func(r *replacement) T {
			r.used = true
			return v
		}, fx.ParamTags(tag))),
	)
}
