package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/transport"
)

// ruled has rules that JSON Schema has no keyword for, in every place where a
// schema can have one.
type ruled struct {
	From  int               `json:"from" doc:"First row."`
	To    int               `json:"to" doc:"Last row." validate:"gtfield=From"`
	Why   string            `json:"why,omitempty" validate:"required_if=From 3"`
	Card  *string           `json:"card" validate:"omitnil,luhn_checksum"`
	Cards []string          `json:"cards" doc:"All cards." validate:"dive,luhn_checksum"`
	Grid  [][]string        `json:"grid" validate:"dive,dive,luhn_checksum"`
	By    map[string]string `json:"by" validate:"dive,keys,luhn_checksum,endkeys,isbn13"`
	Rows  []struct {
		Card string `json:"card" validate:"luhn_checksum"`
	} `json:"rows" validate:"unique=Card"`
	Held map[string]struct {
		Card string `json:"card" validate:"luhn_checksum"`
	} `json:"held"`
	Tree *tree `json:"tree"`
}

type tree struct {
	Card  string           `json:"card" validate:"luhn_checksum"`
	Left  *tree            `json:"left"`
	Many  []tree           `json:"many"`
	Named map[string]*tree `json:"named"`
}

// TestStrict: warnings are in what is shown; with --strict they fail the command, and nothing is served.
func TestStrict(t *testing.T) {
	t.Parallel()
	app := func() *framework.App {
		return framework.New("doubtful", "1", framework.WithLogger(zap.NewNop())).Add(framework.Tool("t", func(context.Context, struct {
			N int `json:"n" minimum:"1"`
		},
		) (string, error) {
			return "", nil
		}))
	}
	const warning = "the tag minimum is not read"
	out, _, err := run(t, app(), []string{"--inspect", "--strict"})
	if err == nil || serve.ExitCode(err) != 1 || !strings.Contains(out, "\nWarnings\n") || !strings.Contains(out, warning) {
		t.Errorf("--inspect --strict: %v\n%s", err, out)
	}
	if out, _, err := run(t, app(), []string{"--strict"}); err == nil || serve.ExitCode(err) != 1 || !strings.Contains(err.Error(), warning) || out != "" {
		t.Errorf("--strict: %v\n%s", err, out)
	}
	if out, _, err := run(t, app(), []string{"--inspect"}); err != nil || !strings.Contains(out, warning) {
		t.Errorf("--inspect: %v\n%s", err, out)
	}
}

// A client sees the schema and nothing else: rules without a keyword are
// sentences in descriptions, and --inspect shows each of them.
func TestInspectShowsRulesWithoutKeyword(t *testing.T) {
	t.Parallel()
	app := framework.New("rules", "1").Add(framework.Tool("t", func(context.Context, ruled) (string, error) { return "", nil }))
	out, _, err := run(t, app, []string{"--inspect"})
	if err != nil {
		t.Fatal(err)
	}
	const card = "A number with a valid Luhn checksum."
	for name, rule := range map[string]string{
		"to": "Last row. Must be greater than from.", "why": "Required if from is 3.", "card": card,
		"cards": "All cards.", "cards[]": card, "grid[][]": card, "by (names)": card, "by.*": "An ISBN of thirteen digits.",
		"rows": "No two items have the same card.", "rows[].card": card, "held.*.card": card, "tree.card": card,
	} {
		found := 0
		for line := range strings.Lines(out) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, name+"  ") && strings.HasSuffix(line, rule) {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%s: %d lines with %q in\n%s", name, found, rule, out)
		}
	}
	if n := strings.Count(out, "\n"); n > 40 {
		t.Errorf("the recursive type takes %d lines:\n%s", n, out)
	}
}

// TestInspectShowsTheInside checks that a user who may start the program sees everything:
// components that need scopes, where components come from, and, as JSON, the chains.
func TestInspectShowsTheInside(t *testing.T) {
	t.Parallel()
	refuse := framework.Middleware{Name: "refuse", Phase: framework.PhaseLimit, Wrap: func(framework.Handler) framework.Handler {
		return func(context.Context, *framework.Call) (*framework.Result, error) {
			t.Error("a chain ran: it could refuse, and would count")
			return nil, errors.New("no")
		}
	}}
	app := func() *framework.App {
		return framework.New("inside", "1", framework.WithLogger(zap.NewNop())).Use(refuse).Add(
			framework.Tool("guarded", hello, framework.Scopes("b", "a")), framework.Tool("hidden", hello, framework.Hidden()),
		).OnStart(func(_ context.Context, s *framework.Server) error { return s.Add(framework.Tool("late", hello)) })
	}
	out, _, err := run(t, app(), []string{"--inspect"})
	if err != nil || !strings.Contains(out, "  guarded\n") || !strings.Contains(out, "    needs b a\n    from main_test.go:") ||
		!strings.Contains(out, "\nNot listed\n  hidden (tool, hidden)\n") || strings.Contains(out, "recovery") {
		t.Errorf("%v\n%s", err, out)
	}
	out, _, err = run(t, app(), []string{"--inspect=json"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := surface.Parse([]byte(out))
	if err != nil || len(got.Tools) != 2 || got.Inside == nil || len(got.Inside.Components) != 3 {
		t.Fatalf("%v\n%s", err, out)
	}
	c := got.Inside.Components[0]
	want := []surface.Step{{Name: "recovery", Origin: "engine"}, {Name: "scopes", Origin: "engine"}, {Name: "refuse", Origin: "app", Phase: "limit"}}
	if c.Name != "guarded" || c.Function != "hello" || !strings.HasPrefix(c.Added, "inspect_test.go:") || !slices.Equal(c.Chain, want) {
		t.Errorf("%+v", c)
	}
}

// slowly is a reader of the output that takes its time.
type slowly struct{}

func (slowly) Write(p []byte) (int, error) {
	time.Sleep(100 * time.Millisecond)
	return len(p), nil
}

// TestInspectRunsNoTasks: what only looks at the server leaves the tasks of its store to the servers.
func TestInspectRunsNoTasks(t *testing.T) {
	t.Parallel()
	store := memory.New()
	var ran atomic.Bool
	app := func(opts ...framework.AppOption) *framework.App {
		opts = append(opts, framework.WithStore(store), framework.WithLogger(zap.NewNop()))
		return framework.New("tasks", "1", opts...).Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
			ran.Store(true)
			<-ctx.Done()
			return "", ctx.Err()
		}, framework.Task(framework.TaskOptional)))
	}
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":{},"task":{}}}
`)
	var out strings.Builder
	if err := serve.Run(t.Context(), app(framework.WithTaskWorkers(0)), nil, serve.Streams(in, &out, nil)); err != nil || !strings.Contains(out.String(), `"working"`) {
		t.Fatalf("no task: %v\n%s", err, out.String())
	}
	for _, arg := range []string{"--inspect", "--version"} {
		if err := serve.Run(t.Context(), app(), []string{arg}, serve.Streams(nil, slowly{}, nil)); err != nil || ran.Load() {
			t.Errorf("%s: %v, ran the task: %t", arg, err, ran.Load())
		}
	}
}

func TestInspectFaultyAsJSON(t *testing.T) {
	t.Parallel()
	out, _, err := run(t, apps["faulty"](), []string{"--inspect=json"})
	var build *framework.BuildError
	if !errors.As(err, &build) || serve.ExitCode(err) != 2 {
		t.Fatalf("Run = %v, want a BuildError", err)
	}
	var report struct {
		Problems int
		Outcome  string
		Faults   []framework.Fault
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if report.Problems != 2 || report.Outcome != "Nothing was started." || len(report.Faults) != len(build.Faults) || report.Faults[0].Component != `tool "bad name!"` {
		t.Errorf("the report: %s", out)
	}
	for _, args := range [][]string{nil, {"--inspect"}, {"--version", "--inspect=json"}} {
		if out, _, err := run(t, apps["faulty"](), args); out != "" || err == nil {
			t.Errorf("Run(%q) = %v, and wrote %q to stdout", args, err, out)
		}
	}
}

// TestInspectBehindFrames: middleware of UseFrames that refuses strangers does not see the inspection.
func TestInspectBehindFrames(t *testing.T) {
	t.Parallel()
	app := func() *framework.App {
		return framework.New("guarded", "1.2.3", framework.WithLogger(zap.NewNop())).UseFrames(func(transport.Next) transport.Next {
			return func(context.Context, []byte, transport.Outbound) error { return framework.UserErrorf("log in first") }
		}).Add(framework.Tool("hello", hello, framework.Describe("Greet a person by name.")))
	}
	for flag, want := range map[string]string{"--version": "guarded 1.2.3\n", "--inspect": "hello"} {
		if out, _, err := run(t, app(), []string{flag}); err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v, %s", flag, err, out)
		}
	}
}
