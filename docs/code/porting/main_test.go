package main

import (
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/testkit"
)

func TestSearch(t *testing.T) {
	var calls []string
	app := func() *framework.App {
		return NewApp(Notes{"milk": "Buy milk."}, func(call string, _ time.Duration) { calls = append(calls, call) })
	}
	s := testkit.New(t, app)
	s.CallRaw("search", `{"query":"milk"}`).OK().Mentions("milk")
	s.CallRaw("search", `{"query":"milk","limit":0}`).IsError().Mentions("1 to 100")
	if len(calls) != 2 || calls[0] != "tools/call search" {
		t.Errorf("observed %q", calls)
	}
}

// testkit/interop compares the rest with the original servers.
func TestRemove(t *testing.T) {
	testkit.AllRevisions(t, func() *framework.App {
		return NewApp(Notes{"milk": "Buy milk."}, func(string, time.Duration) {})
	}, func(_ *testing.T, s *testkit.Session) {
		s.CallRaw("remove", `{"name":"mlik"}`).IsError().Mentions("no note")
	})
}
