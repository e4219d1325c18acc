package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

func TestStateSecrets(t *testing.T) {
	t.Parallel()
	build2 := func(secrets ...[]byte) *framework.Server {
		return build(t, quiet(framework.WithStateSecrets(secrets...)).Add(
			framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) { return ask(ctx, "a") }),
			framework.Tool("page", func(ctx context.Context, _ struct{}) (string, error) {
				return "went", framework.ElicitURL(ctx, "visit", "https://example.com/{elicitationId}")
			}),
		))
	}
	old, next := []byte("an old secret of enough bytes"), []byte("a new secret of enough bytes")
	first, second, third := build2(old), build2(next, old), build2(next)
	begin := func(s *framework.Server, tool string) (*asker, inputRequired) {
		a := newAsker(t, s, protocol.Rev20260728, byMessage(map[string]string{"visit": `{"action":"accept"}`}))
		var required inputRequired
		if err := json.Unmarshal(a.tool(tool, `{}`).ok().Result, &required); err != nil {
			t.Fatal(err)
		}
		return a, required
	}
	a, required := begin(first, "t")
	retry := a.retry(`{"name":"t","arguments":{}}`, required)
	if got := newAsker(t, second, protocol.Rev20260728, nil).call("tools/call", retry).text(); got != "a!" {
		t.Errorf("after a rotation: %q", got)
	}
	newAsker(t, third, protocol.Rev20260728, nil).call("tools/call", retry).code(protocol.CodeInvalidParams).mentions("requestState")

	a, required = begin(first, "page")
	retry = a.retry(`{"name":"page","arguments":{}}`, required)
	for name, s := range map[string]*framework.Server{"another instance": build2(old), "a rotation": second} { // the page has the same id
		if got := newAsker(t, s, protocol.Rev20260728, nil).call("tools/call", retry).text(); got != "went" {
			t.Errorf("after %s: %q", name, got)
		}
	}
}

func TestRoundOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for problem, opt := range map[string]framework.AppOption{
		"WithStateSecrets: secret 2 has 5 bytes": framework.WithStateSecrets([]byte("sixteen bytes ok"), []byte("short")),
		"WithStateSecrets: a sealer needs":       framework.WithStateSecrets(),
		"WithStateTTL: the duration must be":     framework.WithStateTTL(0),
		"WithModel: the model is nil":            framework.WithModel(nil),
	} {
		_, err := quiet(opt).Build()
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("want %q, got %v", problem, err)
		}
	}
}

func TestReplayCheck(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.ErrorLevel)
	n := 0
	s := build(t, framework.New("test", "1", framework.WithLogger(zap.New(core)), framework.WithReplayCheck()).Add(
		framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
			n++
			return ask(ctx, fmt.Sprint("number ", n))
		})))
	dial(t, s, protocol.Rev20260728, withCaps(all)).tool("t", `{}`).ok()
	if logs.Len() != 1 || !strings.Contains(fmt.Sprint(logs.All()[0].ContextMap()), "number 2") {
		t.Errorf("logged %v", logs.All())
	}
}

// TestReplayCheckInTasks: nothing of the second run shows, and a handler that is a
// function of its answers is not reported.
func TestReplayCheckInTasks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		core, logs := observer.New(zap.ErrorLevel)
		var n, effects int
		handler := func(text func() string) func(context.Context, struct{}) (string, error) {
			return func(ctx context.Context, _ struct{}) (string, error) {
				n++
				framework.Progress(ctx, 1, 2, text())
				if _, err := framework.Once(ctx, "e", func(context.Context) (int, error) { effects++; return 1, nil }); err != nil {
					return "", err
				}
				return ask(ctx, text())
			}
		}
		task := []framework.Option{framework.Describe("d"), framework.Task(framework.TaskOptional)}
		s := build(t, framework.New("test", "1", framework.WithLogger(zap.New(core)), framework.WithReplayCheck()).Add(
			framework.Tool("varies", handler(func() string { return fmt.Sprint("number ", n) }), task...),
			framework.Tool("same", handler(func() string { return "same" }), task...),
		))
		p := dialTasks(t, s)
		same := p.task("same", `{}`)
		synctest.Wait()
		if logs.Len() != 0 || effects != 1 || n != 2 {
			t.Errorf("%d effects in %d runs, logged %v", effects, n, logs.All())
		}
		if got := p.get(same); got.Status != "input_required" || len(got.InputRequests) != 1 {
			t.Errorf("%+v", got)
		}
		n = 0
		varies := p.task("varies", `{}`)
		synctest.Wait()
		if logs.Len() != 1 || !strings.Contains(fmt.Sprint(logs.All()[0].ContextMap()), "number 2") {
			t.Errorf("logged %v", logs.All())
		}
		if got := p.get(varies).StatusMessage; got != "number 1" {
			t.Errorf("the second run says %q", got)
		}
	})
}

func TestQuestionsThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		run   func(ctx context.Context) error
		want  error // nil: some other
		asked int
	}{
		"not made": {func(ctx context.Context) error {
			_, err := framework.Gather(ctx, framework.Question[int]{})
			return err
		}, nil, 0},
		"no form": {func(ctx context.Context) error {
			_, _, err := framework.Gather2(ctx, framework.Ask[chan int]("a"), framework.Ask[int]("b"))
			return err
		}, nil, 1},
		"a number that JSON does not have": {func(ctx context.Context) error {
			_, err := framework.Generate(ctx, "?", framework.Temperature(math.NaN()))
			return err
		}, nil, 0},
		"a nil block": {func(ctx context.Context) error {
			_, err := framework.Generate(ctx, "?", framework.History(protocol.Message{Role: protocol.RoleUser, Content: framework.Text("a"), More: []protocol.Block{nil}}))
			return err
		}, nil, 0},
		"a list before 2025-11-25": {func(ctx context.Context) error {
			_, err := framework.Elicit[struct {
				Colors []string `json:"colors" validate:"dive,oneof=red green"`
			}](ctx, "which?")
			return err
		}, framework.ErrUnsupported, 0},
		"not of the call": {func(context.Context) error {
			_, err := framework.Gather(context.WithValue(t.Context(), userKey{}, 1), framework.Ask[int]("a"))
			return err
		}, framework.ErrUnsupported, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got error
			s := build(t, quiet().Add(doing(func(ctx context.Context) error {
				got = tt.run(ctx)
				return got
			})))
			a := newAsker(t, s, protocol.Rev20250618, func(string, question) string { return said("1") })
			if a.tool("t", `{}`).isError(); len(a.asked) != tt.asked {
				t.Errorf("asked %q", a.asked)
			}
			if got == nil || tt.want != nil && !errors.Is(got, tt.want) || tt.want == nil && errors.Is(got, framework.ErrUnsupported) {
				t.Errorf("got %v", got)
			}
		})
	}
	ctx := t.Context()
	_, _, second := framework.Gather2(ctx, framework.Ask[int]("a"), framework.Ask[int]("b"))
	_, _, _, third := framework.Gather3(ctx, framework.Ask[int]("a"), framework.Ask[int]("b"), framework.Ask[int]("c"))
	for _, err := range []error{second, third, framework.ElicitURL(ctx, "m", "https://example.com")} {
		if !errors.Is(err, framework.ErrUnsupported) {
			t.Errorf("outside of a handler: %v", err)
		}
	}
}

// Only three methods may ask on 2026-07-28 (basic/patterns/mrtr).
func TestListsAndCompletionsDoNotAsk(t *testing.T) {
	t.Parallel()
	var errs []error
	try := func(ctx context.Context) {
		_, err := framework.Elicit[bool](ctx, "?")
		errs = append(errs, err)
	}
	s := build(t, quiet().Use(framework.OnList("asking", func(ctx context.Context, call *framework.Call, next framework.Next[[]framework.ComponentInfo]) ([]framework.ComponentInfo, error) {
		try(ctx)
		return next(ctx, call)
	})).Add(
		framework.Prompt("p", func(context.Context, struct{ X string }) (framework.Messages, error) { return nil, nil },
			framework.Complete("x", func(ctx context.Context, _ string, _ map[string]string) ([]string, error) {
				try(ctx)
				return []string{"x"}, nil
			})),
		framework.Method("example.com/x", func(ctx context.Context, _ struct{}) (struct{}, error) {
			try(ctx)
			return struct{}{}, nil
		}),
	))
	p := dial(t, s, protocol.Rev20260728, withCaps(all))
	p.call("prompts/list", `{}`).ok()
	p.call("completion/complete", `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"x","value":""}}`).ok()
	p.call("example.com/x", `{}`).ok()
	if len(errs) != 3 {
		t.Fatalf("%d questions", len(errs))
	}
	for _, err := range errs {
		if !errors.Is(err, framework.ErrUnsupported) {
			t.Errorf("got %v", err)
		}
	}
}

// The state of three short answers stays small: clients carry it.
func TestStateSize(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
		for range 3 {
			if _, err := ask(ctx, "a"); err != nil {
				return "", err
			}
		}
		return ask(ctx, "last")
	})))
	a := newAsker(t, s, protocol.Rev20260728, byMessage(nil))
	params, largest := `{"name":"t"}`, 0
	for range 4 {
		var required inputRequired
		unmarshal(t, a.call("tools/call", params).ok().Result, &required)
		largest = max(largest, len(required.State))
		params = a.retry(`{"name":"t"}`, required)
	}
	if largest > 400 {
		t.Errorf("the state has %d bytes", largest)
	}
}
