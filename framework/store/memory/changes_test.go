package memory_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

func TestChanges(t *testing.T) {
	t.Parallel()
	storetest.Changes(t, func(testing.TB) change.Bus { return memory.New().Changes() })
}

func TestOneChangesPort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		heard := listen(t, s.Changes(), nil)
		tell(t, s.Changes(), "a")
		synctest.Wait()
		if !slices.Equal(*heard, []string{"", "a"}) {
			t.Errorf("heard %q: each call of Changes has a bus of its own", *heard)
		}
	})
}

func tell(t testing.TB, b change.Bus, messages ...string) {
	t.Helper()
	for _, m := range messages {
		if err := b.Publish(t.Context(), []byte(m)); err != nil {
			t.Errorf("Publish: %v", err)
		}
	}
}

// listen gives what is heard, which may be read after synctest.Wait; nil is "".
// Each call waits for the gate, if there is one.
func listen(t *testing.T, b change.Bus, gate <-chan struct{}) *[]string {
	t.Helper()
	heard := new([]string)
	go func() {
		_ = b.Subscribe(t.Context(), func(m []byte) {
			if *heard = append(*heard, string(m)); gate != nil {
				<-gate
			}
		})
	}()
	synctest.Wait()
	return heard
}

func texts(from, to int) []string {
	var out []string
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprint(i))
	}
	return out
}

// As many wait as may; with one more all are gone, and those that follow wait again.
func TestSlowSubscriber(t *testing.T) {
	t.Parallel()
	const most = 1024
	for _, tt := range []struct {
		name  string
		sent  []string
		heard []string
	}{
		{name: "as many as may wait", sent: texts(0, most), heard: texts(0, most)},
		{name: "one too many", sent: texts(0, most+1), heard: []string{""}},
		{name: "some more", sent: texts(0, most+11), heard: append([]string{""}, texts(most+1, most+11)...)},
		{name: "twice too many", sent: texts(0, 2*most+3), heard: append([]string{""}, texts(2*most+2, 2*most+3)...)},
		{name: "as many bytes as may wait", sent: []string{string(make([]byte, 3<<20)), string(make([]byte, 1<<20))}, heard: []string{string(make([]byte, 3<<20)), string(make([]byte, 1<<20))}},
		{name: "a byte too many", sent: []string{string(make([]byte, 3<<20)), string(make([]byte, 1<<20+1)), "x"}, heard: []string{"", "x"}},
		{name: "one that is large", sent: []string{string(make([]byte, 5<<20))}, heard: []string{string(make([]byte, 5<<20))}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, gate := memory.New().Changes(), make(chan struct{})
				slow, quick := listen(t, b, gate), listen(t, b, nil)
				for _, m := range tt.sent {
					tell(t, b, m)
					synctest.Wait()
				}
				if !slices.Equal((*quick)[1:], tt.sent) {
					t.Errorf("another one heard %d messages of %d", len(*quick)-1, len(tt.sent))
				}
				close(gate)
				synctest.Wait()
				tell(t, b, "end")
				synctest.Wait()
				if want := append(slices.Clone(tt.heard), "end"); !slices.Equal((*slow)[1:], want) {
					t.Errorf("%d heard, want %d: %.100q", len(*slow)-1, len(want), *slow)
				}
			})
		})
	}
}

// TestSubscriberEnds checks that waiting messages are not passed to a subscriber after its context
// has ended.
func TestSubscriberEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := memory.New().Changes()
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		tellAndEnd := func(m []byte) {
			if calls++; m == nil {
				tell(t, b, "a", "b")
				return
			}
			cancel()
		}
		if err := b.Subscribe(ctx, tellAndEnd); err == nil || calls != 2 {
			t.Errorf("%d calls, %v", calls, err)
		}
		tell(t, b, "c")
		if calls != 2 {
			t.Error("a call after the end")
		}
	})
}

// A message without a subscriber allocates nothing.
func TestPublishToNobody(t *testing.T) {
	b, m := memory.New().Changes(), []byte("message")
	got := testing.AllocsPerRun(100, func() {
		if err := b.Publish(t.Context(), m); err != nil {
			t.Error(err)
		}
	})
	if got > 0 {
		t.Errorf("%g allocations", got)
	}
}
