package feed

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// FuzzAbove: looking for the names above a resource finds exactly those that cover it.
func FuzzAbove(f *testing.F) {
	for _, uri := range []string{"", "/", "//", "a", "a/", "a/b", "a//b", "file:///a/b?c#d", "a#/", "?#/", "test://r/1/2", "a/#"} {
		f.Add(uri, uri)
		f.Add(uri, "a/b")
	}
	f.Fuzz(func(t *testing.T, uri, other string) {
		found := slices.Collect(above(uri))
		for i := range len(uri) + 1 {
			if name := uri[:i]; slices.Contains(found, name) != covers(name, uri) {
				t.Errorf("%q above %q: found %t, covers it %t", name, uri, !covers(name, uri), covers(name, uri))
			}
		}
		if slices.Contains(found, other) != covers(other, uri) {
			t.Errorf("%q above %q: covers it %t", other, uri, covers(other, uri))
		}
		if slices.Sort(found); len(slices.Compact(slices.Clone(found))) != len(found) {
			t.Errorf("%q: a name twice in %q", uri, found)
		}
	})
}

func TestTopics(t *testing.T) {
	t.Parallel()
	h := NewHub(wait.NewGroup(), nil)
	feeds := make([]*Feed, 5)
	for i := range feeds {
		feeds[i] = h.Session(nil)
	}
	who := func(uri string) string {
		var all []int
		for _, r := range h.resources.covering(uri) {
			all = append(all, slices.Index(feeds, r.feed))
		}
		slices.Sort(all)
		return fmt.Sprint(all)
	}
	expect := func(want ...string) {
		t.Helper()
		for i, uri := range []string{"x://a", "x://a/b", "x://c"} {
			if got := who(uri); got != want[i] {
				t.Errorf("%s is watched by %s, want %s", uri, got, want[i])
			}
		}
	}
	feeds[0].WatchAll([]string{"x://a"})
	feeds[1].WatchAll([]string{"x://a", "x://a/b", "x://c"})
	feeds[2].WatchAll([]string{"x://a/", "x://a/b"})
	feeds[3].Narrow(protocol.SubscriptionFilter{URIs: []string{"x://c", "x://c"}, Tasks: []string{"t"}})
	expect("[0 1]", "[0 1 2]", "[1 3]")
	feeds[1].WatchAll([]string{"x://a", "x://c"})
	expect("[0 1]", "[0 1 2]", "[1 3]") // it still covers what is below
	feeds[1].WatchAll([]string{"x://c"})
	expect("[0]", "[0 2]", "[1 3]")
	feeds[0].Stop()
	feeds[0].WatchAll([]string{"x://a", "x://c"}) // came too late
	feeds[3].Leave()
	expect("[]", "[2]", "[1]")
	feeds[1].WatchAll(nil)
	feeds[2].Stop()
	expect("[]", "[]", "[]")
	if h.resources.byName != nil || h.tasks.byName != nil {
		t.Errorf("left behind: %v, %v", h.resources.byName, h.tasks.byName)
	}
}

// TestWatchingGoesOn while a feed changes what else it watches: a change that comes just then
// is not lost.
func TestWatchingGoesOn(t *testing.T) {
	t.Parallel()
	h := NewHub(wait.NewGroup(), nil)
	session, stream := h.Session(nil), h.Session(nil)
	narrow := func(uris ...string) { stream.Narrow(protocol.SubscriptionFilter{URIs: uris, Tasks: uris}) }
	session.WatchAll([]string{"x://other", "x://kept"})
	narrow("x://other", "x://kept")
	var changes sync.WaitGroup
	stop := make(chan struct{})
	changes.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			session.WatchAll([]string{"x://kept"})
			narrow("x://kept")
			session.WatchAll([]string{"x://other", "x://kept"})
			narrow("x://other", "x://kept")
		}
	})
	for i := range 50_000 {
		if told, tasks := len(h.resources.covering("x://kept")), len(h.tasks.of("x://kept")); told != 2 || tasks != 1 {
			t.Errorf("after %d looks %d watch the resource, want 2, and %d the task, want 1", i, told, tasks)
			break
		}
	}
	close(stop)
	changes.Wait()
}

// TestNarrowedUpdates: a stream collects updates before its filter is checked. What is refused then is not
// sent, and not revealed through a resource above it. What is allowed is not lost.
func TestNarrowedUpdates(t *testing.T) {
	t.Parallel()
	const secret = "x://all/bob"
	for _, tt := range []struct {
		asked, allowed, want []string
	}{
		{[]string{"x://all", secret}, []string{"x://all"}, []string{"x://all"}},
		{[]string{secret}, nil, nil},
		{[]string{secret}, []string{secret}, []string{secret}},
		{[]string{"x://all"}, []string{"x://all"}, []string{"x://all"}},
		{[]string{"x://all", "X://all/b%6Fb"}, []string{"x://all"}, []string{"x://all"}},
		{[]string{"X://all/b%6Fb"}, []string{"X://all/b%6Fb"}, []string{"X://all/b%6Fb"}},
	} {
		h := NewHub(wait.NewGroup(), func(uri string) bool { return uri == secret })
		f := h.Stream(nil, jsonrpc.StringID("1"), protocol.SubscriptionFilter{URIs: tt.asked})
		h.Updated(secret)
		f.Narrow(protocol.SubscriptionFilter{URIs: tt.allowed})
		if got := f.pend().uris; !slices.Equal(got, tt.want) {
			t.Errorf("%q of %q: pending %q, want %q", tt.allowed, tt.asked, got, tt.want)
		}
	}
	h := NewHub(wait.NewGroup(), nil)
	f := h.Stream(nil, jsonrpc.StringID("1"), protocol.SubscriptionFilter{URIs: []string{"x://caf%C3%A9", "x://b"}})
	h.Updated("x://café/1")
	f.Narrow(protocol.SubscriptionFilter{URIs: []string{"x://caf%C3%A9"}})
	if got, want := f.pend().uris, []string{"x://café/1"}; !slices.Equal(got, want) {
		t.Errorf("below another spelling: pending %q, want %q", got, want)
	}
}

// TestManySpellings: what a subscription costs does not grow with the spellings that others use.
func TestManySpellings(t *testing.T) {
	t.Parallel()
	h, names := NewHub(wait.NewGroup(), nil), make([]string, 1<<16)
	for i := range names {
		name := []byte("x://")
		for bit := range 16 {
			if c := byte('a' + bit); i>>bit&1 == 1 {
				name = fmt.Appendf(name, "%%%X", c)
			} else {
				name = append(name, c)
			}
		}
		names[i] = string(name)
	}
	f, began := h.Session(nil), time.Now()
	f.WatchAll(names)
	f.WatchAll(nil)
	if took := time.Since(began); took > 15*time.Second || len(h.resources.odd) > 0 {
		t.Errorf("%v, %d left", took, len(h.resources.odd))
	}
}
