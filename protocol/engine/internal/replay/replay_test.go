package replay_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/kagami-mcp/kagami/protocol/engine/internal/replay"
	"github.com/kagami-mcp/kagami/protocol/rounds"
)

func never() bool { return false }

func value(text string) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return []byte(text), nil }
}

// TestEffects: an effect happens once, also if several goroutines ask for it. An effect that fails has
// not happened.
func TestEffects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, broken := replay.New(0), errors.New("broken")
		f.Restore([]rounds.Effect{{Key: "old", Value: []byte("1")}})
		if got, err := f.Run(t.Context(), "old", value("2"), never); err != nil || string(got) != "1" || f.Unkept() {
			t.Errorf("got %q and %v, want the restored value", got, err)
		}
		if _, err := f.Run(t.Context(), "new", func(context.Context) ([]byte, error) { return nil, broken }, never); !errors.Is(err, broken) {
			t.Errorf("got %v, want the effect's error", err)
		}
		release, runs := make(chan struct{}), atomic.Int32{}
		for range 3 {
			go func() {
				got, err := f.Run(t.Context(), "new", func(context.Context) ([]byte, error) {
					runs.Add(1)
					<-release
					return []byte("3"), nil
				}, never)
				if err != nil || string(got) != "3" {
					t.Errorf("got %q and %v", got, err)
				}
			}()
		}
		synctest.Wait()
		if n := runs.Load(); n != 1 {
			t.Errorf("the effect runs %d times at the same time, want 1", n)
		}
		close(release)
		f.Finish()
		if all := f.All(); len(all) != 2 || !f.Unkept() || f.Unkept() {
			t.Errorf("effects: %v", all)
		}
		if _, err := f.Run(t.Context(), "more", value("4"), func() bool { return true }); !errors.Is(err, replay.ErrPending) {
			t.Errorf("got %v, want ErrPending", err)
		}
	})
}

// TestLimit: an effect whose result is too large for the journal fails.
func TestLimit(t *testing.T) {
	t.Parallel()
	f := replay.New(6)
	if _, err := f.Run(t.Context(), "a", value("12345"), never); err != nil {
		t.Error(err)
	}
	if _, err := f.Run(t.Context(), "b", value(""), never); err == nil {
		t.Error("7 bytes were kept")
	}
}

// TestDifference: questions with names may come in any order, questions within an effect do not count,
// and the second execution may end earlier.
func TestDifference(t *testing.T) {
	t.Parallel()
	ask := func(keys ...string) (all []replay.Action) {
		for _, key := range keys {
			all = append(all, replay.Action{Key: key, Line: "asks " + key})
		}
		return all
	}
	for _, tt := range []struct {
		first, second []string
		failure, want string
	}{
		{first: []string{"q1", "a"}, second: []string{"q1", "a"}},
		{first: []string{"a"}, second: []string{"b"}},
		{first: []string{"effect/q1"}},
		{first: []string{"q1"}, second: []string{"q2"}, want: "- asks q1\n+ asks q2\n"},
		{first: []string{"a"}, want: "- asks a\n"},
		{first: []string{"part/q1#2"}, second: []string{"a"}, want: "- asks part/q1#2\n"},
		{failure: "fails: x", want: "+ fails: x\n"},
	} {
		f := replay.New(0)
		if _, err := f.Run(t.Context(), "effect", value("1"), never); err != nil {
			t.Fatal(err)
		}
		probe := replay.Probe(f.All())
		if _, err := probe.Run(t.Context(), "effect", value("2"), never); err != nil {
			t.Fatal(err)
		}
		first := replay.Trace{Asked: ask(tt.first...), Effects: f}
		second := replay.Trace{Asked: ask(tt.second...), Effects: probe, Failure: tt.failure}
		if got := replay.Difference(first, second); got != tt.want {
			t.Errorf("%v and %v: got %q, want %q", tt.first, tt.second, got, tt.want)
		}
	}
	f := replay.New(0)
	if _, err := f.Run(t.Context(), "effect", value("1"), never); err != nil {
		t.Fatal(err)
	}
	if got := replay.Difference(replay.Trace{Effects: f}, replay.Trace{Effects: replay.Probe(nil)}); got != "- does effect\n" {
		t.Errorf("got %q", got)
	}
	if _, err := replay.Probe(nil).Run(t.Context(), "new", value("1"), never); !errors.Is(err, replay.ErrPending) {
		t.Errorf("a probe performed an effect: %v", err)
	}
}
