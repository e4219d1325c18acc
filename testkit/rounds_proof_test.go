package testkit_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/testkit"
)

// TestStories: straight-line code asks on every revision over every carrier with the same result, or
// gets an error because the client cannot be asked. Each effect happens once.
func TestStories(t *testing.T) {
	t.Parallel()
	for _, st := range stories() {
		t.Run(st.name, func(t *testing.T) {
			t.Parallel()
			var ws worlds
			testkit.Matrix(t, st.app(&ws), func(t *testing.T, s *testkit.Session) {
				w := ws.of(t)
				if !st.needs.met(testkit.Revision(s)) {
					st.unsupported(t, s, w)
					return
				}
				st.script(s)
				if got := st.call(s).Text(); got != st.want {
					t.Errorf("got %q, want %q (%v)", got, st.want, w.last)
				}
				w.check(t, st, 1)
				if st.own && w.models != 1 {
					t.Errorf("the model was asked %d times", w.models)
				}
			}, st.opts...)
		})
	}
}

// unsupported: if the client cannot be asked, the handler gets ErrUnsupported and decides what to do.
func (st *story) unsupported(t *testing.T, s *testkit.Session, w *world) {
	t.Helper()
	if st.without == "?" { // one of the questions can be asked: it is
		s.OnSample("c?", "42")
	}
	if st.name == "mixed" {
		s.Roots()
	}
	a := st.call(s)
	if st.without != "" && st.without != "?" {
		if got := a.OK().Text(); got != st.without {
			t.Errorf("got %q, want %q", got, st.without)
		}
		return
	}
	a.IsError()
	if !errors.Is(w.last, framework.ErrUnsupported) {
		t.Errorf("the handler got %v", w.last)
	}
}

// check the counting rules: as many idempotency keys as effects, and none more often
// than most (0: any number of times).
func (w *world) check(t *testing.T, st story, most int) {
	t.Helper()
	counts := w.counts()
	if len(counts) != st.effects {
		t.Errorf("%d effects, want %d: %v", len(counts), st.effects, w.done)
	}
	if n := len(counts); most > 0 && n > 0 && counts[n-1] > most {
		t.Errorf("an effect was tried more than %d times: %v", most, w.done)
	}
}

// TestStoriesUnderChaos: with a fresh process for each round, each round twice and a
// crash after each effect, the result is the same, and what happens again happens
// with the same idempotency key. A store that is shared keeps outcomes: what is at
// most once is so.
func TestStoriesUnderChaos(t *testing.T) {
	t.Parallel()
	for _, st := range stories() {
		for _, mode := range []string{"alone", "shared", "store"} {
			t.Run(st.name+", "+mode, func(t *testing.T) {
				t.Parallel()
				var ws worlds
				opts := st.opts
				if mode == "store" {
					opts = append(slices.Clip(opts), testkit.Store(memory.New()))
				}
				testkit.AllCarriers(t, st.app(&ws), func(t *testing.T, s *testkit.Session) {
					w := ws.of(t)
					s.Chaos()
					if mode == "shared" {
						testkit.ShareClaims(s)
					}
					most := 0
					if mode != "alone" && st.name == "at most once" {
						most = 1
					}
					st.script(s)
					if got := st.call(s).Text(); got != st.want {
						t.Errorf("got %q, want %q (%v)", got, st.want, w.last)
					}
					w.check(t, st, most)
				}, opts...)
			})
		}
	}
}
