package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// TestOncePerCallAsks: a step is done when it came to next, not when it has run.
func TestOncePerCallAsks(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		said("true"):           "a!",
		`{"action":"decline"}`: "The user declined to answer.",
	} {
		bothEras(t, func(t *testing.T, rev protocol.Revision) {
			ran, first, gates := 0, 0, 0
			step := func(name string, do func(ctx context.Context) error) framework.Middleware {
				return framework.OncePerCall(framework.Middleware{Name: name, Wrap: func(next framework.Handler) framework.Handler {
					return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
						if err := do(ctx); err != nil {
							return nil, err
						}
						return next(ctx, call)
					}
				}})
			}
			core, logs := observer.New(zap.ErrorLevel)
			s := build(t, framework.New("test", "1", framework.WithLogger(zap.New(core)), framework.WithReplayCheck()).Use(
				step("first", func(context.Context) error { first++; return nil }),
				step("gate", func(ctx context.Context) error {
					gates++
					_, err := framework.Elicit[bool](ctx, "may it?", framework.Key("gate"))
					return err
				}),
			).Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
				ran++
				return ask(ctx, "a")
			})))
			a := newAsker(t, s, rev, byMessage(map[string]string{"may it?": answer}))
			if got := a.do("tools/call", `{"name":"t"}`).text(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if want != "a!" && ran > 0 {
				t.Error("the tool ran though the user said no")
			}
			if strings.Count(strings.Join(a.asked, "\n"), "may it?") != 1 {
				t.Errorf("asked %q", a.asked)
			}
			// Each round that asks is run once more by the check of replay.
			if rev == protocol.Rev20260728 && want == "a!" && (first != 2 || gates != 4) {
				t.Errorf("the steps ran %d and %d times", first, gates)
			}
			for _, entry := range logs.All() {
				t.Errorf("logged %v", entry.ContextMap())
			}
		})
	}
}

// TestOncePerCallAsksWithoutKeys checks the numbers that identify questions without a key. They do
// not depend on whether earlier steps run again, even if all questions have the same text.
func TestOncePerCallAsksWithoutKeys(t *testing.T) {
	t.Parallel()
	asking := func(name string, step func(framework.Middleware) framework.Middleware) framework.Middleware {
		return step(framework.OnToolCall(name, func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
			if _, err := ask(ctx, "Why?"); err != nil {
				return nil, err
			}
			return next(ctx, call)
		}))
	}
	same := func(m framework.Middleware) framework.Middleware { return m }
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		core, logs := observer.New(zap.WarnLevel)
		s := build(t, framework.New("test", "1", framework.WithLogger(zap.New(core)), framework.WithReplayCheck()).Use(
			asking("outer", framework.OncePerCall), asking("each round", same), asking("inner", framework.OncePerCall),
		).Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
			first, err := ask(ctx, "Why?")
			if err != nil {
				return "", err
			}
			second, err := ask(ctx, "Why?")
			return first + second, err
		})))
		n := 0
		a := newAsker(t, s, rev, func(string, question) string { n++; return said(fmt.Sprintf(`"%d"`, n)) })
		if got := a.do("tools/call", `{"name":"t"}`).text(); got != "45" || n != 5 {
			t.Errorf("got the answers %s after %d questions", got, n)
		}
		for _, entry := range logs.All() {
			t.Errorf("logged %v", entry.ContextMap())
		}
	})
}

// TestOncePerCallOfAnotherVersion checks that a step which has called next does not run again in
// another version of the program, which has other steps around it.
func TestOncePerCallOfAnotherVersion(t *testing.T) {
	t.Parallel()
	var runs atomic.Int32
	pass := func(name string) framework.Middleware {
		return framework.OnToolCall(name, func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
			return next(ctx, call)
		})
	}
	version := func(steps ...framework.Middleware) *framework.Server {
		return build(t, quiet(framework.WithStateSecrets([]byte("a secret that both of them share"))).Use(steps...).Add(
			framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) { return ask(ctx, "a") })))
	}
	a := newAsker(t, version(pass("log"), counting(&runs), counting(&runs)), protocol.Rev20260728, byMessage(nil))
	a.between = func() {
		a.server = version(pass("new"), framework.OncePerCall(pass("quota")), pass("log"), counting(&runs), counting(&runs))
	}
	if got := a.do("tools/call", `{"name":"t"}`).text(); got != "a!" || runs.Load() != 2 {
		t.Errorf("got %s, and two steps ran %d times", got, runs.Load())
	}
}

// TestOncePerCallAsksAfterNext: an approval of the result is not skipped either.
func TestOncePerCallAsksAfterNext(t *testing.T) {
	t.Parallel()
	release := framework.OncePerCall(framework.OnToolCall("release", func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
		result, err := next(ctx, call)
		if err != nil {
			return nil, err
		}
		if _, err := framework.Elicit[bool](ctx, "release it?"); err != nil {
			return nil, err
		}
		return result, nil
	}))
	s := build(t, quiet().Use(release).Add(framework.Tool("t", func(context.Context, struct{}) (string, error) { return "secret", nil })))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		a := newAsker(t, s, rev, byMessage(map[string]string{"release it?": `{"action":"decline"}`}))
		a.do("tools/call", `{"name":"t"}`).isError().omits("secret").mentions("declined")
	})
}

func TestOneKeyForTwoQuestions(t *testing.T) {
	t.Parallel()
	var got error
	s := build(t, quiet().Add(doing(func(ctx context.Context) error {
		if _, err := ask(ctx, "a", framework.Key("k")); err != nil {
			return err
		}
		_, got = ask(ctx, "b", framework.Key("k"))
		return got
	})))
	for _, rev := range []protocol.Revision{protocol.Rev20250618, protocol.Rev20251125, protocol.Rev20260728} {
		a := newAsker(t, s, rev, byMessage(nil))
		a.do("tools/call", `{"name":"t"}`).isError()
		if want := `two questions of one call have the key "k"`; got == nil || !strings.Contains(got.Error(), want) || len(a.asked) != 1 {
			t.Errorf("%s: %v after %q", rev, got, a.asked)
		}
	}
}

// Keys that a client could not send back, or that are the framework's own.
func TestKeysThatCannotBe(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"\xff": `the key "\xff" is not UTF-8`, "roots": `the key "roots" is reserved for Roots`} {
		bothEras(t, func(t *testing.T, rev protocol.Revision) {
			var got error
			s := build(t, quiet().Add(doing(func(ctx context.Context) error {
				_, got = ask(ctx, "a", framework.Key(key))
				return got
			})))
			a := newAsker(t, s, rev, byMessage(nil))
			a.do("tools/call", `{"name":"t"}`).isError()
			if got == nil || !strings.Contains(got.Error(), want) || len(a.asked) != 0 {
				t.Errorf("%v after %q, want %s", got, a.asked, want)
			}
		})
	}
}

// However often and by whatever a call asks for roots, it gets them.
func TestRootsAskedForInManyWays(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
		a, b, err := framework.Gather2(ctx, framework.AskRoots(), framework.AskRoots())
		if err != nil {
			return "", err
		}
		c, err := framework.Roots(ctx)
		if err != nil {
			return "", err
		}
		d, err := framework.Gather(ctx, framework.AskRoots())
		return fmt.Sprint(len(a), len(b), len(c), len(d)), err
	})))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		a := newAsker(t, s, rev, byMessage(nil))
		if got := a.do("tools/call", `{"name":"t"}`).text(); got != "2 2 2 1" {
			t.Errorf("roots: %s after %q", got, a.asked)
		}
	})
}

func TestAnswersAreNotLogged(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.DebugLevel)
	s := build(t, framework.New("test", "1", framework.WithLogger(zap.New(core))).Add(
		doing(func(ctx context.Context) error {
			_, err := framework.Elicit[int](ctx, "your PIN?")
			return err
		}),
		framework.Tool("model", func(ctx context.Context, _ struct{}) (string, error) {
			n, err := framework.GenerateAs[int](ctx, "what?")
			return fmt.Sprint(n), err
		}),
	))
	a := newAsker(t, s, protocol.Rev20260728, func(method string, _ question) string {
		if method == protocol.MethodCreateMessage {
			return model(`"hunter2"`)
		}
		return said(`"hunter2"`)
	})
	a.do("tools/call", `{"name":"t"}`).isError()
	a.do("tools/call", `{"name":"model"}`).isError()
	text := ""
	for _, entry := range logs.All() {
		text += fmt.Sprint(entry.Message, entry.ContextMap())
	}
	if strings.Contains(text, "hunter2") || strings.Count(text, ": /value (") != 2 {
		t.Errorf("logged %s", text)
	}
}

func TestTooManyToolsInOneTurn(t *testing.T) {
	t.Parallel()
	ran := 0
	worker := framework.Tool("work", func(context.Context, struct{}) (string, error) {
		ran++
		return "worked", nil
	})
	s := build(t, quiet().Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
		g, err := framework.Generate(ctx, "go", framework.WithTools(worker))
		return g.Text(), err
	})))
	var uses []string
	for range 40 {
		uses = append(uses, "work", "{}")
	}
	bothTurns := func(_ string, q question) string {
		if len(q.Messages) == 1 {
			return using(uses...)
		}
		if n := strings.Count(q.last(), "too many tools in one turn"); n != 8 {
			t.Errorf("%d refused", n)
		}
		return model("ready")
	}
	a := newAsker(t, s, protocol.Rev20260728, bothTurns)
	if got := a.do("tools/call", `{"name":"t"}`).text(); got != "ready" || ran != 32 {
		t.Errorf("got %q after %d", got, ran)
	}
}

func TestReservedKeys(t *testing.T) {
	t.Parallel()
	if _, err := framework.Once(t.Context(), "a\x00b", func(context.Context) (int, error) { return 0, errors.New("ran") }); err == nil || err.Error() == "ran" {
		t.Errorf("got %v", err)
	}
	s := build(t, quiet().Add(doing(func(ctx context.Context) error {
		_, err := framework.Elicit[[]string](ctx, "m")
		if err == nil || strings.Contains(err.Error(), "In.Value") {
			t.Errorf("got %v", err)
		}
		return nil
	})))
	newAsker(t, s, protocol.Rev20260728, nil).tool("t", `{}`).ok()
}

// counting is a step of OncePerCall that counts its runs.
func counting(runs *atomic.Int32) framework.Middleware {
	return framework.OncePerCall(framework.OnToolCall("counting", func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
		runs.Add(1)
		return next(ctx, call)
	}))
}

// TestOncePerCallInTasks: a task runs again for each answer, and a step that has called next does not.
func TestOncePerCallInTasks(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		bubble(t, func(t *testing.T) {
			var steps, runs atomic.Int32
			s := build(t, quiet().Use(counting(&steps)).Add(framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
				runs.Add(1)
				answer, err := framework.Elicit[name](ctx, "Who?")
				return answer.Name, err
			}, framework.Describe("d"), framework.Task(framework.TaskOptional))))
			p := dial(t, s, rev, withCaps(declares), answering(func(string, json.RawMessage) string { return `"result":` + accepted }))
			if p.handshake() {
				p.byID("tasks/result", p.start("ask", `{}`, `{}`).TaskID).mentions("Ada")
			} else {
				id := p.task("ask", `{}`)
				synctest.Wait()
				p.answer(id, `{"q1":`+accepted+`}`).ok()
				synctest.Wait()
			}
			if steps.Load() != 1 || runs.Load() != 2 {
				t.Errorf("the step ran %d times in %d runs", steps.Load(), runs.Load())
			}
		})
	})
}

// TestOncePerCallBeforeDetach: a step that has called next does not run again in the task.
func TestOncePerCallBeforeDetach(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var steps, runs atomic.Int32
		p := dialTasks(t, build(t, quiet().Use(counting(&steps)).Add(framework.Tool("work", func(ctx context.Context, _ struct{}) (string, error) {
			runs.Add(1)
			return "done", framework.Detach(ctx)
		}, framework.Describe("d"), framework.Task(framework.TaskOptional, framework.AfterDetach())))))
		id := p.task("work", `{}`)
		synctest.Wait()
		if got := p.get(id); got.Status != "completed" || steps.Load() != 1 || runs.Load() != 2 {
			t.Errorf("%s: the step ran %d times in %d runs", got.Status, steps.Load(), runs.Load())
		}
	})
}
