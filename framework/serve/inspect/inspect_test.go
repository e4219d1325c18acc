package inspect_test

import (
	"context"
	"flag"
	"io"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/inspect"
	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/transport"
)

func server(t *testing.T) *framework.Server {
	t.Helper()
	app := framework.New("test", "1.0.0", framework.WithLogger(zap.NewNop()), framework.WithInstructions("Be kind.")).
		Use(framework.Middleware{Name: "never", Phase: framework.PhaseTrace, Wrap: func(framework.Handler) framework.Handler {
			return func(context.Context, *framework.Call) (*framework.Result, error) { panic("called") }
		}}).
		OnStart(func(_ context.Context, s *framework.Server) error {
			return s.Add(framework.Tool("late", func(context.Context, struct{}) (string, error) { return "", nil }))
		}).
		Add(framework.Tool("guarded", func(context.Context, struct{}) (string, error) { return "", nil }, framework.Scopes("root")))
	s, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The carrier shows all that there is and ends, and the server with it.
func TestCarrier(t *testing.T) {
	t.Parallel()
	for format, want := range map[inspect.Format]string{inspect.Text: "test 1.0.0, at revision", inspect.JSON: `"name": "guarded"`} {
		var out strings.Builder
		if err := server(t).Serve(t.Context(), format.Carrier(&out)); err != nil {
			t.Error(err)
		}
		if got := out.String(); !strings.Contains(got, want) || !strings.Contains(got, "late") || !strings.Contains(got, "Be kind.") {
			t.Errorf("%s: %s", format, got)
		}
		if format != inspect.JSON {
			continue
		}
		all, err := surface.Parse([]byte(out.String()))
		if err != nil || len(all.Inside.Components) != 2 || all.Inside.Components[0].Chain[2].Name != "never" {
			t.Errorf("%v: %+v", err, all)
		}
	}
}

func TestCarrierOfAnotherHost(t *testing.T) {
	t.Parallel()
	look := inspect.JSON
	if err := look.Carrier(io.Discard).Serve(t.Context(), stranger{}); err == nil || !strings.Contains(err.Error(), "does not show itself") {
		t.Errorf("the error is %v", err)
	}
}

type stranger struct{ transport.Host }

// It is a flag that needs no value.
func TestFlag(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]inspect.Format{"": "", "-look": inspect.Text, "--look=json": inspect.JSON, "-look=text": inspect.Text, "-look=false": ""} {
		var look inspect.Format
		set := flag.NewFlagSet("test", flag.ContinueOnError)
		set.SetOutput(io.Discard)
		set.Var(&look, "look", "")
		if err := set.Parse(strings.Fields(arg)); err != nil || look != want || look.Wanted() != (want != "") {
			t.Errorf("%s: %q, %v", arg, look, err)
		}
	}
	look := inspect.JSON
	if err := look.Set("xml"); err == nil || look != inspect.JSON || look.String() != "json" {
		t.Errorf("xml: %q, %v", look, err)
	}
}
