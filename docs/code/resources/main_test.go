package main

import (
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport"
)

func TestNotes(t *testing.T) {
	testkit.BothEras(t, NewApp, func(t *testing.T, s *testkit.Session) {
		s.Read("notes://index").OK().Mentions("milk", "moon")
		if n, err := testkit.ReadAs[Note](s, "notes://milk"); err != nil || n.Text == "" {
			t.Fatalf("notes://milk: %+v, %v", n, err)
		}
		s.Read("notes://nothing").IsError()
		if got := s.Complete("notes://{name}", "name", "mo", nil); !slices.Equal(got, []string{"moon"}) {
			t.Fatalf("completions of mo: %v", got)
		}
		s.Subscribe("notes://milk")
		s.CallRaw("write", `{"name":"milk","text":"bought"}`).OK()
		s.AwaitNotification("notifications/resources/updated")
		s.Subscribe("notes://50%25%20off%3F")
		s.CallRaw("write", `{"name":"50% off?","text":"tea"}`).OK()
		s.AwaitNotification("notifications/resources/updated")

		alice := s.As("alice")
		alice.Subscribe("notes://diary-alice")
		alice.CallRaw("write", `{"name":"diary-alice","text":"…"}`).OK()
		alice.AwaitNotification("notifications/resources/updated")
	})
}

// A diary is for its owner, and other notes are for everyone.
func TestMayWatch(t *testing.T) {
	t.Parallel()
	bob := transport.WithPrincipal(t.Context(), &transport.Principal{Subject: "bob"})
	for uri, may := range map[string]bool{"notes://milk": true, "notes://diary-bob": true, "notes://diary-alice": false} {
		if err := mayWatch(bob, uri); (err == nil) != may {
			t.Errorf("bob, %s: %v", uri, err)
		}
	}
	if mayWatch(t.Context(), "notes://diary-alice") == nil {
		t.Error("a caller without a principal may watch a diary")
	}
}

// Handlers run concurrently: the race detector checks them.
func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	c, err := client.Connect(t.Context(), client.InMemory(testkit.New(t, NewApp).Server()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if _, err := c.CallTool(t.Context(), "write", WriteIn{Name: strconv.Itoa(i), Text: "x"}); err != nil {
				t.Error(err)
			}
			if _, err := c.ReadResource(t.Context(), "notes://index"); err != nil {
				t.Error(err)
			}
			if _, err := c.ReadResource(t.Context(), "notes://"+strconv.Itoa(i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
