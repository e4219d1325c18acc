package framework_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// witness writes down how calls ended, and answers as it likes.
type witness struct {
	mu     sync.Mutex // guards seen
	seen   []string
	answer func(result *framework.Result, err error) (*framework.Result, error)
}

func (w *witness) step(phase framework.Phase) framework.Middleware {
	return framework.Middleware{Name: "witness", Phase: phase, Wrap: func(next framework.Handler) framework.Handler {
		return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
			result, err := next(ctx, call)
			lite := framework.CallerLite(ctx)
			who := "nobody"
			if lite.Principal != nil {
				who = lite.Principal.Subject
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.seen = append(w.seen, fmt.Sprintf("%s: %s %s%s %s", who, call.Method, call.Name, call.Arguments, framework.OutcomeOf(ctx, result, err)))
			if call.ID == "" || call.Component.Name == "" || lite.Revision == "" {
				w.seen = append(w.seen, fmt.Sprintf("%+v", call))
			}
			return w.answer(result, err)
		}
	}}
}

func (w *witness) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.seen = nil }()
	return slices.Clone(w.seen)
}

// TestWitnesses checks that only steps of PhaseTrace see a call that scopes refuse, whatever its
// method. Whatever these steps return, the answer is the same as for a component that does not
// exist.
func TestWitnesses(t *testing.T) {
	t.Parallel()
	answers := map[string]func(*framework.Result, error) (*framework.Result, error){
		"handing on": func(result *framework.Result, err error) (*framework.Result, error) { return result, err },
		"answering": func(*framework.Result, error) (*framework.Result, error) {
			return &framework.Result{Body: &protocol.CallToolResult{}}, nil
		},
		"failing":   func(*framework.Result, error) (*framework.Result, error) { return nil, framework.UserErrorf("no") },
		"nothing":   func(*framework.Result, error) (*framework.Result, error) { return nil, nil },
		"panicking": func(*framework.Result, error) (*framework.Result, error) { panic("no") },
	}
	for name, answer := range answers {
		for kind, k := range guardedKinds() {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				bothEras(t, func(t *testing.T, rev protocol.Revision) {
					w, inner := &witness{answer: answer}, &witness{answer: answers["handing on"]}
					guarded := k.component("guarded", framework.Scopes("alpha"), framework.With(w.step(framework.PhaseTrace)))
					s := build(t, quiet().Use(inner.step(framework.PhaseAuth)).Add(guarded, k.component("open")))
					p := dial(t, s, rev, as(&framework.Principal{Subject: "bob", Scopes: []string{"beta"}}))
					for n, use := range k.use {
						got, absent := use(p, "guarded"), use(p, "absent")
						if got.Error == nil || !sameButFor(got.Error, absent.Error, "guarded", nil) {
							t.Errorf("use %d: %s %+v, but what is not there is %+v", n, got.Result, got.Error, absent.Error)
						}
						seen := w.take()
						if len(seen) != 1 || !strings.HasPrefix(seen[0], "bob: ") || !strings.HasSuffix(seen[0], " denied") || !strings.Contains(seen[0], "guarded") {
							t.Errorf("use %d: saw %q", n, seen)
						}
					}
					if seen := inner.take(); seen != nil {
						t.Errorf("a step that may act saw %q", seen)
					}
				})
			})
		}
	}
}

// Who has the scopes is no case for the witnesses of refusals: the step runs once.
func TestWitnessesOfCallsThatMay(t *testing.T) {
	t.Parallel()
	w := &witness{answer: func(result *framework.Result, err error) (*framework.Result, error) { return result, err }}
	s := build(t, quiet(framework.WithErrorMapper(func(_ context.Context, err error) error { return framework.UserErrorf("%w", err) })).
		Use(w.step(framework.PhaseTrace)).Add(framework.Tool("t", search, framework.Scopes("alpha"))))
	dial(t, s, protocol.Rev20260728, as(&framework.Principal{Subject: "ann", Scopes: []string{"alpha"}})).tool("t", `{"query":"go"}`).ok()
	dial(t, s, protocol.Rev20260728).tool("t", `{"query":"secret"}`)
	want := []string{`ann: tools/call t{"query":"go"} ok`, "nobody: tools/call t denied"}
	if got := w.take(); !slices.Equal(got, want) {
		t.Errorf("saw %q, want %q", got, want)
	}
}

// A witness that crashes is logged: a hole in an audit must not be silent.
func TestWitnessThatPanicsIsLogged(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.ErrorLevel)
	w := &witness{answer: func(*framework.Result, error) (*framework.Result, error) { panic("disk full") }}
	s := build(t, framework.New("test", "1", framework.WithLogger(zap.New(core))).Use(w.step(framework.PhaseTrace)).
		Add(framework.Tool("t", none, framework.Scopes("alpha"))))
	dial(t, s, protocol.Rev20260728).tool("t", `{}`)
	if got := logs.All(); len(got) != 1 || !strings.Contains(fmt.Sprint(got[0].ContextMap()["error"]), "disk full") {
		t.Errorf("logged %v", got)
	}
}

// The URIs of a listen request are left out if the caller lacks their scopes. Nothing is refused,
// so steps do not see it.
func TestWitnessesOfListen(t *testing.T) {
	t.Parallel()
	w := &witness{answer: func(result *framework.Result, err error) (*framework.Result, error) { return result, err }}
	s := build(t, quiet().Use(w.step(framework.PhaseTrace)).Add(framework.Resource("cards://1", text, framework.Scopes("cards"))))
	p := dial(t, s, protocol.Rev20260728, as(&framework.Principal{Subject: "bob"}))
	if !listens(p, `{"notifications":{"resourceSubscriptions":["cards://1","cards://1","cards://2"]}}`) {
		t.Error("the request was refused")
	}
	if seen := w.take(); len(seen) > 0 {
		t.Errorf("saw %q", seen)
	}
}
