package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// byMessage answers forms by their message and everything else in one way.
func byMessage(answers map[string]string) func(string, question) string {
	return func(method string, q question) string {
		switch method {
		case protocol.MethodListRoots:
			return `{"roots":[{"uri":"file:///a","name":"a"},{"uri":"file:///b"}]}`
		case protocol.MethodCreateMessage:
			return model("42")
		}
		if answer, ok := answers[q.Message]; ok {
			return answer
		}
		return said(`"` + q.Message + `!"`)
	}
}

// handler is one way to ask. It returns a text.
type handler = func(ctx context.Context, done *atomic.Int32) (string, error)

func ask(ctx context.Context, message string, opts ...framework.AskOption) (string, error) {
	return framework.Elicit[string](ctx, message, opts...)
}

// askDeep asks far down in the call tree.
func askDeep(ctx context.Context, n int) (string, error) {
	if n == 0 {
		return ask(context.WithValue(ctx, userKey{}, n), "deep")
	}
	return askDeep(ctx, n-1)
}

func handlers() map[string]struct {
	run     handler
	answers map[string]string
	want    string // of the text, also of an error
	asked   int
	effects int32
	rounds  int // at 2026-07-28
} {
	count := func(ctx context.Context, done *atomic.Int32, key string) (int32, error) {
		return framework.Once(ctx, key, func(context.Context) (int32, error) { return done.Add(1), nil })
	}
	return map[string]struct {
		run     handler
		answers map[string]string
		want    string
		asked   int
		effects int32
		rounds  int
	}{
		"one": {run: func(ctx context.Context, _ *atomic.Int32) (string, error) {
			return ask(ctx, "a")
		}, want: "a!", asked: 1, rounds: 2},
		"five in sequence": {run: func(ctx context.Context, _ *atomic.Int32) (string, error) {
			var out []string
			for range 5 {
				s, err := ask(ctx, fmt.Sprintf("n%d", len(out)))
				if err != nil {
					return "", err
				}
				out = append(out, s)
			}
			return strings.Join(out, " "), nil
		}, want: "n0! n1! n2! n3! n4!", asked: 5, rounds: 6},
		"the same question twice": {run: func(ctx context.Context, _ *atomic.Int32) (string, error) {
			a, err := ask(ctx, "again")
			if err != nil {
				return "", err
			}
			b, err := ask(ctx, "again")
			return a + b, err
		}, want: "again!again!", asked: 2, rounds: 3},
		"gather two": {run: func(ctx context.Context, _ *atomic.Int32) (string, error) {
			a, b, err := framework.Gather2(ctx, framework.Ask[string]("a"), framework.Ask[int]("b"))
			return fmt.Sprint(a, b), err
		}, answers: map[string]string{"b": said("7")}, want: "a!7", asked: 2, rounds: 2},
		"gather three with a model": {run: func(ctx context.Context, _ *atomic.Int32) (string, error) {
			a, b, c, err := framework.Gather3(ctx, framework.Ask[string]("a"), framework.AskModel[int]("b"), framework.AskModel[framework.Generation]("c"))
			return fmt.Sprint(a, b, c.Text()), err
		}, want: "a!4242", asked: 3, rounds: 2},
		"gather many": {run: func(ctx context.Context, _ *atomic.Int32) (string, error) {
			var all []framework.Question[string]
			for i := range 4 {
				all = append(all, framework.Ask[string](fmt.Sprint("m", i)))
			}
			got, err := framework.Gather(ctx, all...)
			return strings.Join(got, " "), err
		}, want: "m0! m1! m2! m3!", asked: 4, rounds: 2},
		"gather, one refused and one dismissed": {run: func(ctx context.Context, _ *atomic.Int32) (string, error) {
			got, err := framework.Gather(ctx, framework.Ask[string]("a"), framework.Ask[string]("b"), framework.Ask[string]("c"))
			return fmt.Sprint(got[0], errors.Is(err, framework.ErrDeclined), errors.Is(err, framework.ErrCancelled)), nil
		}, answers: map[string]string{"b": `{"action":"decline"}`, "c": `{"action":"cancel"}`}, want: "a!true true", asked: 3, rounds: 2},
		"gather again what was invalid": {run: func(ctx context.Context, _ *atomic.Int32) (string, error) {
			a, b, err := framework.Gather2(ctx, framework.Ask[string]("a"), framework.Ask[int]("b"))
			if err != nil {
				return "", err
			}
			c, err := ask(ctx, "c")
			return fmt.Sprint(a, b, c), err
		}, answers: map[string]string{"b": said(`"x"`), "again": said("9")}, want: "a!9c!", asked: 4, rounds: 4},
		"a loop with keys": {run: func(ctx context.Context, _ *atomic.Int32) (string, error) {
			got := map[string]string{}
			for key := range map[string]bool{"x": true, "y": true, "z": true} { // in any order
				s, err := ask(ctx, key, framework.Key("key "+key))
				if err != nil {
					return "", err
				}
				got[key] = s
			}
			return fmt.Sprint(got), nil
		}, want: "map[x:x! y:y! z:z!]", asked: 3, rounds: 4},
		"after effects": {run: func(ctx context.Context, done *atomic.Int32) (string, error) {
			one, err := count(ctx, done, "one")
			if err != nil {
				return "", err
			}
			a, err := ask(ctx, "a")
			if err != nil {
				return "", err
			}
			two, err := count(ctx, done, "two")
			if err != nil {
				return "", err
			}
			b, err := ask(ctx, "b")
			return fmt.Sprint(one, two, a, b), err
		}, want: "1 2a!b!", asked: 2, effects: 2, rounds: 3},
		"inside an effect": {run: func(ctx context.Context, done *atomic.Int32) (string, error) {
			a, err := framework.Once(ctx, "e", func(ctx context.Context) (string, error) {
				s, err := ask(ctx, "inner")
				if err == nil {
					done.Add(1)
				}
				return s, err
			})
			if err != nil {
				return "", err
			}
			b, err := ask(ctx, "outer")
			return a + b, err
		}, want: "inner!outer!", asked: 2, effects: 1, rounds: 3},
		"nested helpers": {run: func(ctx context.Context, _ *atomic.Int32) (string, error) {
			return askDeep(ctx, 5)
		}, want: "deep!", asked: 1, rounds: 2},
		"goroutines": {run: func(ctx context.Context, _ *atomic.Int32) (string, error) {
			var got [3]string
			var errs [3]error
			var work sync.WaitGroup
			for i := range got {
				work.Go(func() { got[i], errs[i] = ask(ctx, fmt.Sprint("g", i), framework.Key(fmt.Sprint("g", i))) })
			}
			work.Wait()
			return strings.Join(got[:], " "), errors.Join(errs[:]...)
		}, want: "g0! g1! g2!", asked: 3, rounds: 2},
		"an ignored error": {run: func(ctx context.Context, done *atomic.Int32) (string, error) {
			a, _ := ask(ctx, "a")
			b, _ := ask(ctx, "b")
			_, _ = count(ctx, done, "x")
			return a + b, nil
		}, want: "a!b!", asked: 2, effects: 1, rounds: 2},
		"a panic while it waits": {run: func(ctx context.Context, _ *atomic.Int32) (string, error) {
			a, err := ask(ctx, "a")
			if err != nil {
				panic("cannot go on")
			}
			return a, nil
		}, want: "a!", asked: 1, rounds: 2},
		"declined": {run: func(ctx context.Context, _ *atomic.Int32) (string, error) {
			return ask(ctx, "a")
		}, answers: map[string]string{"a": `{"action":"decline"}`}, want: "The user declined to answer.", asked: 1, rounds: 2},
		"cancelled as data": {run: func(ctx context.Context, _ *atomic.Int32) (string, error) {
			a, err := framework.ElicitAnswer[bool](ctx, "a")
			return a.Action, err
		}, answers: map[string]string{"a": `{"action":"cancel"}`}, want: "cancel", asked: 1, rounds: 2},
		"an invalid answer": {run: func(ctx context.Context, _ *atomic.Int32) (string, error) {
			n, err := framework.Elicit[int](ctx, "a", framework.Key("age"))
			if err != nil {
				return "", err
			}
			b, err := ask(ctx, "b")
			return fmt.Sprint(n, b), err
		}, answers: map[string]string{"a": said(`"x"`), "again": said("8")}, want: "8b!", asked: 3, rounds: 4},
		"no valid answer": {run: func(ctx context.Context, _ *atomic.Int32) (string, error) {
			n, err := framework.Elicit[int](ctx, "a", framework.Attempts(2))
			return fmt.Sprint(n), err
		}, answers: map[string]string{"a": said(`"x"`), "again": said(`"y"`)}, want: "The user gave no valid answer in 2 attempts.", asked: 2, rounds: 3},
		"a model": {run: func(ctx context.Context, _ *atomic.Int32) (string, error) {
			n, err := framework.GenerateAs[int](ctx, "what?")
			return fmt.Sprint(n), err
		}, want: "42", asked: 1, rounds: 2},
		"a page": {run: func(ctx context.Context, _ *atomic.Int32) (string, error) {
			return "went", framework.ElicitURL(ctx, "log in", "https://example.com/{elicitationId}")
		}, answers: map[string]string{"log in": `{"action":"accept"}`}, want: "went", asked: 1, rounds: 2},
		"a page, declined": {run: func(ctx context.Context, _ *atomic.Int32) (string, error) {
			return "", framework.ElicitURL(ctx, "log in", "https://example.com/")
		}, answers: map[string]string{"log in": `{"action":"decline"}`}, want: "The user declined to answer.", asked: 1, rounds: 2},
		"roots": {run: func(ctx context.Context, _ *atomic.Int32) (string, error) {
			a, err := framework.Roots(ctx)
			if err != nil {
				return "", err
			}
			b, err := framework.Roots(ctx)
			return fmt.Sprint(len(a), len(b), a[1].URI), err
		}, want: "2 2file:///b", asked: 1, rounds: 2},
	}
}

// TestHandlers are the same everywhere: as a tool, a prompt and a resource, asked
// live and in rounds. What happens in Once happens once.
func TestHandlers(t *testing.T) {
	t.Parallel()
	for name, tt := range handlers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothEras(t, func(t *testing.T, rev protocol.Revision) {
				core, logs := observer.New(zap.WarnLevel)
				var done atomic.Int32
				run := func(ctx context.Context) (string, error) { return tt.run(ctx, &done) }
				opts := []framework.AppOption{framework.WithLogger(zap.New(core))}
				if name != "inside an effect" && name != "a loop with keys" { // which do differ
					opts = append(opts, framework.WithReplayCheck())
				}
				s := build(t, framework.New("test", "1", opts...).Add(
					framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) { return run(ctx) }),
					framework.Resource("r://x", run),
					framework.Prompt("p", func(ctx context.Context, _ struct{}) (framework.Messages, error) {
						text, err := run(ctx)
						return framework.Messages{framework.User(text)}, err
					}),
				))
				for method, params := range map[string]string{
					"tools/call": `{"name":"t","arguments":{}}`, "resources/read": `{"uri":"r://x"}`, "prompts/get": `{"name":"p"}`,
				} {
					done.Store(0)
					a := newAsker(t, s, rev, func(method string, q question) string {
						if answer, ok := tt.answers["again"]; ok && strings.Contains(q.Message, "\n") {
							return answer
						}
						return byMessage(tt.answers)(method, q)
					})
					if got := textOf(t, a.do(method, params)); got != strings.ReplaceAll(tt.want, "The tool", "The "+nounOf(method)) {
						t.Errorf("%s: got %q, want %q", method, got, tt.want)
					}
					if len(a.asked) != tt.asked {
						t.Errorf("%s: asked %q", method, a.asked)
					}
					if got := done.Load(); got != tt.effects {
						t.Errorf("%s: %d effects", method, got)
					}
					if rev == protocol.Rev20260728 && a.rounds != tt.rounds {
						t.Errorf("%s: %d rounds", method, a.rounds)
					}
				}
				for _, entry := range logs.All() {
					if name != "no valid answer" && name != "a panic while it waits" {
						t.Errorf("logged %s %v", entry.Message, entry.ContextMap())
					}
				}
			})
		})
	}
}

// TestHandlersInRounds gives each round to another process, and sends each twice to
// the same: what is in Once happens once all the same.
func TestHandlersInRounds(t *testing.T) {
	t.Parallel()
	for name, tt := range handlers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var done atomic.Int32
			app := quiet(framework.WithStateSecrets([]byte("a secret that all of them share"))).Add(
				framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) { return tt.run(ctx, &done) }))
			for mode, prepare := range map[string]func(a *asker){
				"elsewhere": func(a *asker) { a.between = func() { a.server = build(t, app) } },
				"twice":     func(a *asker) { a.twice = true },
			} {
				done.Store(0)
				a := newAsker(t, build(t, app), protocol.Rev20260728, func(method string, q question) string {
					if answer, ok := tt.answers["again"]; ok && strings.Contains(q.Message, "\n") {
						return answer
					}
					return byMessage(tt.answers)(method, q)
				})
				prepare(a)
				if got := a.do("tools/call", `{"name":"t","arguments":{}}`).text(); got != tt.want || len(a.asked) != tt.asked || done.Load() != tt.effects {
					t.Errorf("%s: got %q after %q and %d effects", mode, got, a.asked, done.Load())
				}
			}
		})
	}
}

func nounOf(method string) string {
	return map[string]string{"tools/call": "tool", "resources/read": "resource", "prompts/get": "prompt"}[method]
}

// textOf is the text of any answer.
func textOf(t *testing.T, r reply) string {
	t.Helper()
	if r.Error != nil {
		return r.Error.Message
	}
	var result struct {
		Content  []struct{ Text string }
		Contents []struct{ Text string }
		Messages []struct{ Content struct{ Text string } }
	}
	if err := json.Unmarshal(r.Result, &result); err != nil {
		t.Fatal(err)
	}
	for _, m := range result.Messages {
		result.Content = append(result.Content, m.Content)
	}
	if all := slices.Concat(result.Content, result.Contents); len(all) == 1 {
		return all[0].Text
	}
	return string(r.Result)
}

func TestHandlersWhereNobodyCanBeAsked(t *testing.T) {
	t.Parallel()
	for _, rev := range []protocol.Revision{protocol.Rev20241105, protocol.Rev20250326} {
		for name, tt := range handlers() {
			if slices.Contains([]string{"roots", "a model", "cancelled as data", "an ignored error", "gather, one refused and one dismissed", "a panic while it waits", "after effects"}, name) {
				continue // not of elicitation, or the error is not returned
			}
			var got error
			s := build(t, quiet().Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
				_, got = tt.run(ctx, new(atomic.Int32))
				return "", got
			})))
			a := newAsker(t, s, rev, byMessage(nil))
			a.tool("t", `{}`).isError()
			if !errors.Is(got, framework.ErrUnsupported) {
				t.Errorf("%s at %s: %v", name, rev, got)
			}
			if slices.ContainsFunc(a.asked, func(word string) bool { return word != "model" }) {
				t.Errorf("%s at %s: asked %q", name, rev, a.asked)
			}
		}
	}
}

func TestPagesNeedTheirMode(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(doing(func(ctx context.Context) error { return framework.ElicitURL(ctx, "m", "https://example.com") })))
	for _, rev := range protocol.Revisions() {
		p := dial(t, s, rev, withCaps(`{"elicitation":{}}`))
		if rev == protocol.Rev20260728 {
			if r := p.tool("t", `{}`).code(-32021); !strings.Contains(string(r.Error.Data), `{"elicitation":{"url":{}}}`) {
				t.Errorf("data = %s", r.Error.Data)
			}
			continue
		}
		p.tool("t", `{}`).isError().mentions("not possible")
	}
}

func TestMiddlewareAndRounds(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.DebugLevel)
	type step struct {
		id      string
		round   int
		pending bool
		caller  string
	}
	var steps []step
	perCall, mapped := 0, 0
	outer := framework.Middleware{Name: "outer", Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			result, err := next(ctx, call)
			info := framework.Caller(ctx)
			steps = append(steps, step{call.ID, call.Round, errors.Is(err, framework.ErrPending), fmt.Sprint(info.Call == call.ID, info.Round == call.Round)})
			return result, err
		}
	}}
	hiding := framework.Middleware{Name: "hiding", Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			result, err := next(ctx, call)
			if errors.Is(err, framework.ErrPending) {
				return &framework.Result{Body: &protocol.CallToolResult{}}, nil
			}
			return result, err
		}
	}}
	approving := framework.OnToolCall("approving", func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
		if _, err := framework.Elicit[bool](ctx, "may it?", framework.Key("approval")); errors.Is(err, framework.ErrDeclined) {
			return nil, err
		} // and goes on, even before there is an answer
		return next(ctx, call)
	})
	counting := framework.OncePerCall(framework.Middleware{Name: "counting", Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			perCall++
			return next(ctx, call)
		}
	}})
	ran := 0
	app := framework.New("test", "1", framework.WithLogger(zap.New(core)), framework.WithErrorMapper(func(_ context.Context, err error) error {
		mapped++
		return framework.UserErrorf("mapped: %w", err)
	})).Use(outer, hiding, counting, approving)
	s := build(t, app.Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
		ran++
		s, err := ask(ctx, "a")
		if err != nil {
			return "", errors.New("hidden")
		}
		return s, nil
	})))
	a := newAsker(t, s, protocol.Rev20260728, byMessage(map[string]string{"may it?": said("true")}))
	if got := a.do("tools/call", `{"name":"t"}`).text(); got != "a!" {
		t.Errorf("got %q", got)
	}
	if len(steps) != 3 || !steps[0].pending || !steps[1].pending || steps[2].pending {
		t.Fatalf("steps %+v", steps)
	}
	for i, s := range steps {
		if s.id != steps[0].id || s.id == "" || s.round != i || s.caller != "true true" {
			t.Errorf("step %d is %+v", i, s)
		}
	}
	if ran != 2 {
		t.Errorf("the handler ran %d times: it must not before the approval", ran)
	}
	if perCall != 1 || mapped != 0 || logs.Len() != 0 {
		t.Errorf("per call %d, mapped %d, logged %v", perCall, mapped, logs.All())
	}
}

// What is missing, unknown or of the wrong kind among the answers, and rounds that
// are sent twice.
func TestAnswersInRounds(t *testing.T) {
	t.Parallel()
	var effects atomic.Int32
	s := build(t, quiet().Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
		if _, err := framework.Once(ctx, "before", func(context.Context) (int32, error) { return effects.Add(1), nil }); err != nil {
			return "", err
		}
		a, b, err := framework.Gather2(ctx, framework.Ask[string]("a", framework.Key("a")), framework.Ask[string]("b", framework.Key("b")))
		if err != nil {
			return "", err
		}
		_, err = framework.Once(ctx, "after", func(context.Context) (int32, error) { return effects.Add(1), nil })
		return a + b, err
	})))
	p := dial(t, s, protocol.Rev20260728, withCaps(all))
	retry := func(r reply, answers string) reply {
		t.Helper()
		var required inputRequired
		unmarshal(t, r.ok().Result, &required)
		return p.call("tools/call", fmt.Sprintf(`{"name":"t","inputResponses":%s,"requestState":%q}`, answers, required.State))
	}
	first := p.call("tools/call", `{"name":"t"}`)
	retry(first, `{"a":{"roots":[]}}`).code(protocol.CodeInvalidParams)
	half := retry(first, `{"a":`+said(`"A"`)+`,"z":`+said(`"Z"`)+`}`)
	if asked := string(half.Result); strings.Contains(asked, `"a":{`) || !strings.Contains(asked, `"b":{`) {
		t.Errorf("asked again: %s", asked)
	}
	for range 2 {
		if got := retry(half, `{"b":`+said(`"B"`)+`}`).text(); got != "AB" {
			t.Errorf("got %q", got)
		}
	}
	if effects.Load() != 2 {
		t.Errorf("%d effects", effects.Load())
	}
}
