package testkit_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/testkit"
)

// booking asks twice, with an effect after each answer.
func booking(w *world, opts ...framework.AppOption) func() *framework.App {
	return func() *framework.App {
		return framework.New("hotel", "1", append(opts, framework.WithLogger(zap.NewNop()))...).Add(
			framework.Tool("book", func(ctx context.Context, in struct{ Room string }) (string, error) {
				name, nights, err := framework.Gather2(ctx, framework.Ask[string]("Who?"), framework.Ask[int]("Nights?", framework.Key("nights")))
				if err != nil {
					return "", err
				}
				if _, err := w.once(ctx, "hold"); err != nil {
					return "", err
				}
				if ok, err := framework.Elicit[bool](ctx, "Pay?"); err != nil || !ok {
					return "", errors.Join(framework.UserErrorf("not paid"), err)
				}
				done, err := w.once(ctx, "pay")
				return fmt.Sprint(in.Room, " for ", name, ", ", nights, " nights, ", done), err
			}),
			framework.Tool("all", func(ctx context.Context, _ struct{}) (string, error) {
				dirs, err := framework.Roots(ctx)
				if err != nil {
					return "", err
				}
				g, err := framework.Generate(ctx, "think")
				if err != nil {
					return "", err
				}
				return fmt.Sprint(len(dirs), g.Text()), framework.ElicitURL(ctx, "visit", "https://example.com/")
			}),
		)
	}
}

func newWorld() *world { return &world{done: make(map[string]int)} }

const want = "blue for Ann, 2 nights, pay done"

func TestRounds(t *testing.T) {
	t.Parallel()
	w := newWorld()
	testkit.AllCarriers(t, booking(w), func(t *testing.T, s *testkit.Session) {
		clear(w.done)
		r := s.Rounds("book", `{"Room":"blue"}`)
		q := r.Questions()
		if len(q) != 2 || q[0].Message != "Who?" || q[1].Message != "Nights?" || !strings.Contains(string(q[1].Schema), "integer") {
			t.Fatalf("asked %+v", q)
		}
		if q := r.Answer("Ann", 2).Questions(); len(q) != 1 || q[0].Message != "Pay?" {
			t.Fatalf("asked %+v", q)
		}
		r.Answer(true).Result().OK().Mentions(want)
		if q := r.Questions(); len(q) != 0 {
			t.Errorf("it asks %+v when it is done", q)
		}
		if got := w.counts(); !slices.Equal(got, []int{1, 1}) {
			t.Errorf("effects %v", w.done)
		}
	})
}

// TestRoundsRefused: what is tampered with, too old or another's is refused and
// executes nothing, and the honest round goes on as if it had not been.
func TestRoundsRefused(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*testkit.Rounds) *testkit.Rounds{
		"tampered":            (*testkit.Rounds).Tamper,
		"expired":             (*testkit.Rounds).Expire,
		"of another user":     func(r *testkit.Rounds) *testkit.Rounds { return r.OtherUser("eve") },
		"of nobody":           func(r *testkit.Rounds) *testkit.Rounds { return r.OtherUser("") },
		"tampered, by an eve": func(r *testkit.Rounds) *testkit.Rounds { return r.OtherUser("eve").Tamper() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			testkit.AllCarriers(t, booking(w), func(t *testing.T, s *testkit.Session) {
				clear(w.done)
				r := s.Rounds("book", `{"Room":"blue"}`)
				spoil(r).Answer("Eve", 3).Result().Code(protocol.CodeInvalidParams).Mentions("requestState")
				if len(w.counts()) != 0 || len(r.Questions()) != 2 {
					t.Fatalf("it happened: %v; asked %+v", w.done, r.Questions())
				}
				r.Answer("Ann", 2)
				spoil(r).Answer(true).Result().Code(protocol.CodeInvalidParams).Mentions("requestState")
				spoil(r).Resend().Result().Code(protocol.CodeInvalidParams)
				if got := w.counts(); !slices.Equal(got, []int{1}) {
					t.Fatalf("effects %v", w.done)
				}
				r.Answer(true).Result().OK().Mentions(want)
				if got := w.counts(); !slices.Equal(got, []int{1, 1}) {
					t.Errorf("effects %v", w.done)
				}
			}, testkit.User("ann"))
		})
	}
}

// TestRoundsResent: a round that is sent again gets the outcome of the first, other
// answers to the same questions are refused.
func TestRoundsResent(t *testing.T) {
	t.Parallel()
	w := newWorld()
	s := testkit.New(t, booking(w))
	r := s.Rounds("book", `{"Room":"blue"}`).Answer("Ann", 2)
	for range 2 {
		if q := r.Resend().Questions(); len(q) != 1 || q[0].Message != "Pay?" {
			t.Fatalf("asked %+v", q)
		}
	}
	r.Answer(true).Result().OK().Mentions(want)
	r.Resend().Result().OK().Mentions(want)
	if got := w.counts(); !slices.Equal(got, []int{1, 1}) {
		t.Errorf("effects %v", w.done)
	}
	other := s.Rounds("book", `{"Room":"blue"}`).Answer("Ann", 2)
	other.DropAnswer(0).Resend().Result().Code(protocol.CodeInvalidParams).Mentions("other inputResponses")
	if q := other.Questions(); len(q) != 1 {
		t.Errorf("a refusal closed the call: %+v", q)
	}
	// The first request sent again is another call.
	first := s.Rounds("book", `{"Room":"red"}`).Resend()
	first.Answer("Bob", 1).Answer(true).Result().OK().Mentions("red for Bob")
	if got := w.counts(); len(got) != 5 {
		t.Errorf("effects %v", w.done)
	}
}

// TestRoundsDropped: what was left out is asked again, what was said is not.
func TestRoundsDropped(t *testing.T) {
	t.Parallel()
	w := newWorld()
	r := testkit.New(t, booking(w)).Rounds("book", `{"Room":"blue"}`)
	if q := r.DropAnswer(0).Answer("Ann", 2).Questions(); len(q) != 1 || q[0].Message != "Who?" {
		t.Fatalf("asked %+v", q)
	}
	if q := r.DropAnswer(0).Answer("Ann").Questions(); len(q) != 1 || q[0].Message != "Who?" || len(w.counts()) != 0 {
		t.Fatalf("asked %+v, effects %v", q, w.done)
	}
	r.Answer("Ann").Answer(true).Result().OK().Mentions(want)
}

// TestRoundsOfAllKinds: models, pages and roots are answered by hand as well.
func TestRoundsOfAllKinds(t *testing.T) {
	t.Parallel()
	r := testkit.New(t, booking(newWorld())).Rounds("all", "")
	r.Answer([]protocol.Root{{URI: "file:///a"}})
	if q := r.Questions(); len(q) != 1 || q[0].Message != "think" {
		t.Fatalf("asked %+v", q)
	}
	r.Answer("hm")
	if q := r.Questions(); len(q) != 1 || q[0].URL != "https://example.com/" || q[0].Schema != nil {
		t.Fatalf("asked %+v", q)
	}
	r.Answer(testkit.Decline).Result().IsError().Mentions("declined")
}

// TestExpiryInABubble checks that Expire uses the clock of the bubble.
func TestExpiryInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		r := testkit.New(t, booking(w, framework.WithStateTTL(time.Minute))).Rounds("book", `{"Room":"blue"}`)
		r.Expire().Answer("Ann", 2).Result().Code(protocol.CodeInvalidParams).Mentions("expired")
		time.Sleep(59 * time.Second)
		r.Answer("Ann", 2)
		time.Sleep(62 * time.Second)
		r.Answer(true).Result().Code(protocol.CodeInvalidParams).Mentions("expired")
		if got := w.counts(); !slices.Equal(got, []int{1}) {
			t.Errorf("effects %v", w.done)
		}
	})
}

// TestChaos: it does what it says.
func TestChaos(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string][]int{"alone": {3, 3}, "shared": {2, 2}} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w, apps, starts := newWorld(), 0, 0
			s := testkit.New(t, func() *framework.App {
				apps++
				return booking(w)().OnStart(func(context.Context, *framework.Server) error { starts++; return nil })
			})
			s.Chaos()
			if mode == "shared" {
				testkit.ShareClaims(s)
			}
			answers("Who?", "Ann", "Nights?", 2, "Pay?", true)(s)
			s.CallRaw("book", `{"Room":"blue"}`).OK().Mentions("blue for Ann")
			// In each of two rounds: crashed after the effect, completed, sent again.
			if got := w.counts(); !slices.Equal(got, want) {
				t.Errorf("tried %v", w.done)
			}
			if apps != 8 || starts != 8 { // and New's, and the first round
				t.Errorf("%d apps, %d starts", apps, starts)
			}
			for key := range maps.Keys(w.done) {
				if !strings.HasSuffix(key, "/hold") && !strings.HasSuffix(key, "/pay") {
					t.Errorf("key %q", key)
				}
			}
		})
	}
}

// TestChaosOfSharedStores checks servers that share a store. They keep the outcome of a round, and
// execute the round only once. The option Store replaces the app's store in all of them.
func TestChaosOfSharedStores(t *testing.T) {
	t.Parallel()
	store := memory.New()
	for name, tt := range map[string]struct {
		store framework.Store
		opts  []testkit.Option
	}{
		"of the app":     {store, nil},
		"of the session": {foreign{t}, []testkit.Option{testkit.Store(store)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			s := testkit.New(t, func() *framework.App { return booking(w)().UseStore(tt.store) }, tt.opts...)
			s.Chaos()
			answers("Who?", "Ann", "Nights?", 2, "Pay?", true)(s)
			s.CallRaw("book", `{"Room":"blue"}`).OK().Mentions("blue for Ann")
		})
	}
}

// foreign is a store that must not be used.
type foreign struct{ t *testing.T }

func (f foreign) used() { f.t.Error("the app's store is used") }

func (f foreign) Sessions() session.Store { f.used(); return nil }
func (f foreign) Tasks() task.Store       { f.used(); return nil }
func (f foreign) Events() eventlog.Store  { f.used(); return nil }
func (f foreign) Changes() change.Bus     { f.used(); return nil }

// TestLongAnswers: what is too long to travel waits in the store that all share.
func TestLongAnswers(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, func() *framework.App {
		return framework.New("kit", "1").Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
			a, err := elicit(ctx, "a?")
			if err != nil {
				return "", err
			}
			b, err := elicit(ctx, "b?")
			return fmt.Sprint(len(a), b), err
		}))
	})
	s.Chaos()
	testkit.ShareClaims(s)
	answers("a?", strings.Repeat("x", 100<<10), "b?", "b")(s)
	s.CallRaw("t", "").OK().Mentions("102400b")
}

// TestChaosOfHandles: a typed call finds the tool of whichever app was made last.
func TestChaosOfHandles(t *testing.T) {
	t.Parallel()
	var name *framework.ToolOf[struct{}, string]
	s := testkit.New(t, func() *framework.App {
		name = framework.Tool("name", func(ctx context.Context, _ struct{}) (string, error) {
			return framework.Elicit[string](ctx, "Who?")
		})
		return framework.New("kit", "1").Add(name)
	})
	s.Chaos()
	for range 2 {
		s.OnElicit("Who?", "Ann")
		if got, err := testkit.Call(s, name, struct{}{}); got != "Ann" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	old := testkit.New(t, newHandles().app, testkit.At(protocol.Rev20251125))
	old.Chaos() // changes nothing
	old.OnElicit("name", "Ann")
	old.CallRaw("greet", "").OK().Mentions("accept Ann")
}

// TestChaosFinds what a handler does wrong between two executions.
func TestChaosFinds(t *testing.T) {
	t.Parallel()
	tool := func(fn func(ctx context.Context) (string, error)) func() *framework.App {
		return func() *framework.App {
			return framework.New("kit", "1").Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
				if _, err := framework.Elicit[string](ctx, "first"); err != nil {
					return "", err
				}
				return fn(ctx)
			}))
		}
	}
	for name, tt := range map[string]struct {
		run  func(*int) func(ctx context.Context) (string, error)
		want []string
	}{
		"another question": {func(n *int) func(context.Context) (string, error) {
			return func(ctx context.Context) (string, error) {
				*n++ // twice in each process: it runs, and is checked
				return framework.Elicit[string](ctx, fmt.Sprint("question ", (*n-1)/2))
			}
		}, []string{"asks something else", "question 0", "question 1"}},
		"another effect": {func(n *int) func(context.Context) (string, error) {
			return func(ctx context.Context) (string, error) {
				*n++
				return framework.Once(ctx, fmt.Sprint("effect ", min(*n, 3)), func(context.Context) (string, error) { return "", nil })
			}
		}, []string{"has other effects", "effect 2", "effect 3"}},
		"a question at times": {func(n *int) func(context.Context) (string, error) {
			return func(ctx context.Context) (string, error) {
				if *n++; *n > 2 {
					return "enough", nil
				}
				return framework.Elicit[string](ctx, "second")
			}
		}, []string{"asks at one time and not at the other", "second", "enough"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var runs int
			got := failures(t, func(t testing.TB) {
				s := testkit.New(t, tool(tt.run(&runs)))
				s.Chaos()
				answers("first", "x", "question", "y", "second", "z")(s)
				s.CallRaw("t", "")
			})
			if len(got) == 0 {
				t.Fatal("nothing was found")
			}
			for _, w := range append(tt.want, "sent again", "first:", "again:") {
				if !strings.Contains(got[0], w) {
					t.Errorf("the message lacks %q:\n%s", w, got[0])
				}
			}
		})
	}
}
