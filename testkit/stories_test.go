package testkit_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
)

// world is what lies outside of the server's process: it survives crashes.
type world struct {
	mu     sync.Mutex
	done   map[string]int // effects by idempotency key: how often each was tried
	models int            // calls of the app's own model
	last   error          // of the handler, when it had all its answers
}

// effect is one that a provider makes idempotent: the same key, the same receipt.
func (w *world) effect(ctx context.Context, name string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := framework.IdempotencyKey(ctx)
	if key == "" {
		return "", errors.New("an effect without a key")
	}
	w.done[key]++
	return name + " done", nil
}

// once is the effect as handlers write it.
func (w *world) once(ctx context.Context, name string, opts ...framework.OnceOption) (string, error) {
	return framework.Once(ctx, name, func(ctx context.Context) (string, error) { return w.effect(ctx, name) }, opts...)
}

// Generate makes the world the app's own model.
func (w *world) Generate(_ context.Context, req *framework.ModelRequest) (framework.Generation, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.models++
	return framework.Generation{Model: "own", Content: framework.Content{protocol.Text{Text: fmt.Sprint("heard ", len(req.Messages))}}}, nil
}

// story is one way to ask in straight-line code.
type story struct {
	name    string
	run     func(ctx context.Context, w *world) (string, error)
	script  func(s *testkit.Session)
	want    string // of the text, also of an error
	effects int    // distinct ones
	needs   need   // zero: a form
	kind    string // "" a tool, "prompt", "resource"
	opts    []testkit.Option
	own     bool   // the app has a model
	without string // the text if the client cannot be asked; empty: an unhandled ErrUnsupported
}

// need is what the client must be able to do; later ones are of later revisions.
type need int

const (
	forms need = iota
	sampling
	toolLoops
	pages
	roots
)

// met says whether clients of a revision can do it.
func (n need) met(revision string) bool {
	switch n {
	case forms:
		return revision >= "2025-06-18"
	case toolLoops, pages:
		return revision >= "2025-11-25"
	default:
		return true
	}
}

func elicit(ctx context.Context, message string, opts ...framework.AskOption) (string, error) {
	return framework.Elicit[string](ctx, message, opts...)
}

// answers scripts forms: pairs of a text and an answer.
func answers(pairs ...any) func(*testkit.Session) {
	return func(s *testkit.Session) {
		for i := 0; i < len(pairs); i += 2 {
			s.OnElicit(pairs[i].(string), pairs[i+1])
		}
	}
}

func deep(ctx context.Context, n int) (string, error) {
	type key struct{}
	if n == 0 {
		return elicit(context.WithValue(ctx, key{}, n), "deep?")
	}
	return deep(ctx, n-1)
}

// even is a form whose rule no schema tells.
type even struct {
	N int `json:"n"`
}

func (e even) Validate() error {
	if e.N%2 != 0 {
		return errors.New("must be even")
	}
	return nil
}

type trip struct {
	City  string `json:"city"`
	Days  int    `json:"days" default:"3"`
	Class string `json:"class" validate:"oneof=first second"`
}

// errs are texts of errors, for stories that handle them.
func refusalOf(err error) string {
	switch {
	case errors.Is(err, framework.ErrDeclined):
		return "declined"
	case errors.Is(err, framework.ErrCancelled):
		return "cancelled"
	}
	return fmt.Sprint(err)
}

func stories() []story {
	return []story{
		{name: "one question", run: func(ctx context.Context, _ *world) (string, error) {
			return elicit(ctx, "name?")
		}, script: answers("name?", "Ann"), want: "Ann"},
		{name: "a form", run: func(ctx context.Context, _ *world) (string, error) {
			t, err := framework.Elicit[trip](ctx, "where?")
			return fmt.Sprint(t.City, t.Days, t.Class), err
		}, script: answers("where?", map[string]any{"city": "Oslo", "class": "first"}), want: "Oslo3first"},
		{name: "five in sequence", run: func(ctx context.Context, _ *world) (string, error) {
			var all []string
			for i := range 5 {
				a, err := elicit(ctx, fmt.Sprintf("question %d?", i))
				if err != nil {
					return "", err
				}
				all = append(all, a)
			}
			return strings.Join(all, ""), nil
		}, script: answers("0", "a", "1", "b", "2", "c", "3", "d", "4", "e"), want: "abcde"},
		{name: "gathered two", run: func(ctx context.Context, _ *world) (string, error) {
			a, b, err := framework.Gather2(ctx, framework.Ask[string]("a?"), framework.Ask[int]("b?"))
			return fmt.Sprint(a, b), err
		}, script: answers("b?", 7, "a?", "x"), want: "x7"},
		{name: "gathered three", run: func(ctx context.Context, _ *world) (string, error) {
			a, b, c, err := framework.Gather3(ctx, framework.Ask[string]("a?"), framework.Ask[bool]("b?"), framework.AskModel[int]("c?"))
			return fmt.Sprint(a, b, c), err
		}, script: func(s *testkit.Session) {
			answers("a?", "x", "b?", true)(s)
			s.OnSample("c?", "42")
		}, want: "xtrue 42", without: "?"},
		{name: "gathered many", run: func(ctx context.Context, _ *world) (string, error) {
			var all []framework.Question[string]
			for i := range 4 {
				all = append(all, framework.Ask[string](fmt.Sprintf("m%d?", i)))
			}
			got, err := framework.Gather(ctx, all...)
			return strings.Join(got, " "), err
		}, script: answers("m3?", "d", "m2?", "c", "m1?", "b", "m0?", "a"), want: "a b c d"},
		{name: "in a loop", run: func(ctx context.Context, _ *world) (string, error) {
			got := make(map[string]string)
			for key := range map[string]bool{"x": true, "y": true, "z": true} { // in any order
				a, err := elicit(ctx, key+"?", framework.Key("of "+key))
				if err != nil {
					return "", err
				}
				got[key] = a
			}
			return fmt.Sprint(got), nil
		}, script: answers("x?", "1", "y?", "2", "z?", "3"), want: "map[x:1 y:2 z:3]"},
		{name: "after an effect", run: func(ctx context.Context, w *world) (string, error) {
			done, err := w.once(ctx, "book")
			if err != nil {
				return "", err
			}
			a, err := elicit(ctx, "again?")
			return done + " " + a, err
		}, script: answers("again?", "no"), want: "book done no", effects: 1},
		{name: "in a prompt", kind: "prompt", run: func(ctx context.Context, w *world) (string, error) {
			a, err := elicit(ctx, "topic?")
			if err != nil {
				return "", err
			}
			done, err := w.once(ctx, "note")
			return a + " " + done, err
		}, script: answers("topic?", "tea"), want: "tea note done", effects: 1},
		{name: "in a resource", kind: "resource", run: func(ctx context.Context, w *world) (string, error) {
			a, err := elicit(ctx, "which?")
			if err != nil {
				return "", err
			}
			b, err := elicit(ctx, "sure?")
			if err != nil {
				return "", err
			}
			done, err := w.once(ctx, "note")
			return a + b + " " + done, err
		}, script: answers("which?", "this", "sure?", "yes"), want: "thisyes note done", effects: 1},
		{name: "nested helpers", run: func(ctx context.Context, _ *world) (string, error) {
			return deep(ctx, 5)
		}, script: answers("deep?", "down"), want: "down"},
		{name: "from goroutines", run: func(ctx context.Context, w *world) (string, error) {
			var got [3]string
			var errs [3]error
			var work sync.WaitGroup
			for i := range got {
				work.Go(func() {
					name := fmt.Sprintf("g%d", i)
					if got[i], errs[i] = elicit(ctx, name+"?", framework.Key(name)); errs[i] == nil {
						_, errs[i] = w.once(ctx, name)
					}
				})
			}
			work.Wait()
			return strings.Join(got[:], " "), errors.Join(errs[:]...)
		}, script: answers("g2?", "c", "g1?", "b", "g0?", "a"), want: "a b c", effects: 3},
		{name: "an ignored error", run: func(ctx context.Context, w *world) (string, error) {
			a, _ := elicit(ctx, "a?")
			b, _ := elicit(ctx, "b?")
			done, _ := w.once(ctx, "x")
			return a + b + " " + done, nil
		}, script: answers("a?", "1", "b?", "2"), want: "12 x done", effects: 1, without: " x done"},
		{name: "declined", run: func(ctx context.Context, _ *world) (string, error) {
			return elicit(ctx, "may I?")
		}, script: answers("may I?", testkit.Decline), want: "The user declined to answer."},
		{name: "declined and handled", run: func(ctx context.Context, w *world) (string, error) {
			if _, err := elicit(ctx, "may I?"); errors.Is(err, framework.ErrDeclined) {
				return w.once(ctx, "sorry")
			} else if err != nil {
				return "", err
			}
			return "may", nil
		}, script: answers("may I?", testkit.Decline), want: "sorry done", effects: 1},
		{name: "cancelled", run: func(ctx context.Context, _ *world) (string, error) {
			a, err := framework.ElicitAnswer[bool](ctx, "may I?")
			return a.Action, err
		}, script: answers("may I?", testkit.Cancel), want: "cancel"},
		{name: "invalid, then valid", run: func(ctx context.Context, _ *world) (string, error) {
			e, err := framework.Elicit[even](ctx, "an even number?")
			if err != nil {
				return "", err
			}
			b, err := elicit(ctx, "and?")
			return fmt.Sprint(e.N, b), err
		}, script: answers("must be even", map[string]int{"n": 4}, "an even number?", map[string]int{"n": 3}, "and?", "so"), want: "4so"},
		{name: "a tool loop", needs: toolLoops, run: func(ctx context.Context, w *world) (string, error) {
			g, err := framework.Generate(ctx, "count!", framework.WithTools(framework.Tool("add", func(ctx context.Context, in struct{ A, B int }) (string, error) {
				if _, err := w.once(ctx, "add"); err != nil {
					return "", err
				}
				return elicit(ctx, fmt.Sprintf("%d+%d?", in.A, in.B))
			})))
			return fmt.Sprint(g.Text(), " in ", g.Turns), err
		}, script: func(s *testkit.Session) {
			s.OnElicit("2+3?", "five")
			s.OnElicit("5+5?", "ten")
			use := func(a, b int) protocol.ToolUse {
				return protocol.ToolUse{Name: "add", Input: fmt.Appendf(nil, `{"A":%d,"B":%d}`, a, b)}
			}
			s.OnSampleTools(testkit.Turn{Uses: []protocol.ToolUse{use(2, 3), use(5, 5)}}, testkit.Turn{Reply: "ten"})
		}, want: "ten in 2", effects: 2},
		{name: "an app model", own: true, opts: []testkit.Option{testkit.Without("sampling")}, run: func(ctx context.Context, _ *world) (string, error) {
			g, err := framework.Generate(ctx, "think")
			if err != nil {
				return "", err
			}
			a, err := elicit(ctx, g.Text()+"?")
			return g.Model + " " + a, err
		}, script: answers("heard 1?", "yes"), want: "own yes"},
		{name: "a page", needs: pages, run: func(ctx context.Context, w *world) (string, error) {
			if err := framework.ElicitURL(ctx, "log in", "https://example.com/{elicitationId}"); err != nil {
				return "", err
			}
			return w.once(ctx, "login")
		}, script: func(s *testkit.Session) {
			s.OnElicit("log in", func(f testkit.Form) any {
				if !strings.HasPrefix(f.URL, "https://example.com/") || strings.Contains(f.URL, "{") {
					return testkit.Cancel
				}
				return nil
			})
		}, want: "login done", effects: 1},
		{name: "roots", needs: roots, run: func(ctx context.Context, _ *world) (string, error) {
			a, err := framework.Roots(ctx)
			if err != nil {
				return "", err
			}
			b, err := framework.Roots(ctx)
			return fmt.Sprint(len(a), len(b), a[1].URI), err
		}, script: func(s *testkit.Session) {
			s.Roots(protocol.Root{URI: "file:///a"}, protocol.Root{URI: "file:///b"})
		}, want: "2 2file:///b"},
		{name: "a generated value", needs: sampling, run: func(ctx context.Context, _ *world) (string, error) {
			t, err := framework.GenerateAs[trip](ctx, "plan!")
			return fmt.Sprint(t), err
		}, script: func(s *testkit.Session) {
			s.OnSample("plan!", `{"city":"Rome","class":"third"}`)
			s.OnSample("first", "```json\n{\"city\":\"Rome\",\"class\":\"second\"}\n```")
		}, want: "{Rome 3 second}"},
		{name: "effects between questions", run: func(ctx context.Context, w *world) (string, error) {
			var all []string
			for _, name := range []string{"one", "two", "three"} {
				a, err := elicit(ctx, name+"?")
				if err != nil {
					return "", err
				}
				done, err := w.once(ctx, name)
				if err != nil {
					return "", err
				}
				more, err := w.once(ctx, name+" more")
				if err != nil {
					return "", err
				}
				all = append(all, a, done, more)
			}
			return strings.Join(all, ","), nil
		}, script: answers("one?", "1", "two?", "2", "three?", "3"), want: "1,one done,one more done,2,two done,two more done,3,three done,three more done", effects: 6},
		{name: "at most once", run: func(ctx context.Context, w *world) (string, error) {
			if _, err := elicit(ctx, "pay?"); err != nil {
				return "", err
			}
			a, err := w.once(ctx, "charge", framework.AtMostOnce())
			if err != nil {
				return "", err
			}
			b, err := elicit(ctx, "receipt?")
			return a + " " + b, err
		}, script: answers("pay?", "yes", "receipt?", "no"), want: "charge done no", effects: 1},
		{name: "a question in an effect", run: func(ctx context.Context, w *world) (string, error) {
			return framework.Once(ctx, "outer", func(ctx context.Context) (string, error) {
				a, err := elicit(ctx, "inner?")
				if err != nil {
					return "", err
				}
				done, err := w.once(ctx, "inner")
				return a + " " + done, err
			})
		}, script: answers("inner?", "in"), want: "in inner done", effects: 1},
		{name: "mixed", run: func(ctx context.Context, w *world) (string, error) {
			dirs, err := framework.Roots(ctx)
			if err != nil {
				return "", err
			}
			a, b, err := framework.Gather2(ctx, framework.Ask[string]("a?"), framework.Ask[string]("b?"))
			if err != nil {
				if errors.Is(err, framework.ErrUnsupported) {
					return "", err
				}
				a = refusalOf(err)
			}
			done, err := w.once(ctx, "save")
			if err != nil {
				return "", err
			}
			g, err := framework.Generate(ctx, "sum up "+done)
			if err != nil {
				return "", err
			}
			_, err = framework.ElicitAnswer[bool](ctx, "ok?")
			return fmt.Sprint(len(dirs), a, b, g.Text()), err
		}, script: func(s *testkit.Session) {
			s.Roots(protocol.Root{URI: "file:///a"})
			answers("a?", testkit.Decline, "b?", "B", "ok?", testkit.Cancel)(s)
			s.OnSample("sum up save done", "sum")
		}, want: "1declinedBsum", effects: 1},
	}
}

// worlds has a world for each subtest.
type worlds struct{ sync.Map }

func (ws *worlds) of(t testing.TB) *world {
	w, _ := ws.LoadOrStore(t.Name(), &world{done: make(map[string]int)})
	return w.(*world)
}

// app tells the story as a tool, a prompt or a resource.
func (st *story) app(ws *worlds) func(t testing.TB) *framework.App {
	return func(t testing.TB) *framework.App {
		t.Helper()
		w := ws.of(t)
		run := func(ctx context.Context) (string, error) {
			text, err := st.run(ctx, w)
			if !errors.Is(err, framework.ErrPending) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.last = err
			}
			return text, err
		}
		opts := []framework.AppOption{framework.WithLogger(zap.NewNop())}
		if st.own {
			opts = append(opts, framework.WithModel(w))
		}
		return framework.New("story", "1", opts...).Add(
			framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) { return run(ctx) }),
			framework.Resource("r://x", run),
			framework.Prompt("p", func(ctx context.Context, _ struct{}) (framework.Messages, error) {
				text, err := run(ctx)
				return framework.Messages{framework.User(text)}, err
			}),
		)
	}
}

// call the story and return the text.
func (st *story) call(s *testkit.Session) *testkit.Answer {
	switch st.kind {
	case "prompt":
		return s.Get("p", nil)
	case "resource":
		return s.Read("r://x")
	}
	return s.CallRaw("t", "{}")
}

// counts are the effects by key.
func (w *world) counts() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Values(w.done))
}
