package main

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport"
)

// fresh returns the app for sessions whose users need no tokens. Tests over HTTP check the tokens.
func fresh() *framework.App { return newApp(auth.Bearer(auth.Static{}), io.Discard, newCounters()) }

// ann is the option for the user that Ann's token names.
func ann() testkit.Option { return testkit.User("ann", writeNotes, readNotes) }

// Each user sees the tools that the user may call, on every transport.
func TestNotesEverywhere(t *testing.T) {
	t.Parallel()
	testkit.Matrix(t, fresh, func(t *testing.T, s *testkit.Session) {
		s.CallRaw("add_note", `{"text":"Buy tea"}`).OK().Mentions("Noted.")
		s.CallRaw("add_note", `{"text":""}`).IsError().Mentions("/text")
		if mine, err := testkit.CallAs[[]string](s, "list_notes", nil); err != nil || !slices.Equal(mine, []string{"Buy tea"}) {
			t.Errorf("%q, %v", mine, err)
		}
		bob := s.As("bob", readNotes)
		if his, err := testkit.CallAs[[]string](bob, "list_notes", nil); err != nil || len(his) != 0 {
			t.Errorf("Bob reads %q, %v", his, err)
		}
		if n := len(bob.Tools()); n != 2 {
			t.Errorf("Bob sees %d tools", n)
		}
	}, ann())
}

// Without a principal, as on stdio, the tools for notes are hidden, and nothing crashes.
func TestNobody(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, fresh())
	if n := len(s.Tools()); n != 1 {
		t.Errorf("without a principal, %d tools are listed", n)
	}
	s.CallRaw("whoami", "").IsError().Mentions("You are not logged in.")
}

// The lock file contains the API with its scopes.
func TestContract(t *testing.T) {
	t.Parallel()
	testkit.Contract(t, fresh, "testdata/mcp.lock")
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	n := &notes{byUser: map[user][]string{}}
	testkit.Mistakes(t, framework.Tool("add_note", n.add))
}

// Each user has thirty calls a minute. No minute passes during the test.
func TestLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var audit bytes.Buffer
		counts := newCounters()
		s := testkit.New(t, newApp(auth.Bearer(auth.Static{}), &audit, counts), ann())
		for range 30 {
			s.CallRaw("whoami", "").OK()
		}
		s.CallRaw("whoami", "").IsError().Mentions("too many calls: try again in 2s")
		s.As("bob").CallRaw("whoami", "").OK()
		s.Advance(2 * time.Second)
		s.CallRaw("whoami", "").OK()
		if n := counts.calls[series{"tools/call", "whoami", framework.OutcomeLimited}]; n != 1 {
			t.Errorf("%d limited calls are counted", n)
		}
		if n := strings.Count(audit.String(), "\n"); n != 33 {
			t.Errorf("%d lines of audit", n)
		}
	})
}

// The example's own issuer has no rotated keys, no expired tokens, and no tokens for another
// server. This test checks the guard with them.
func TestGuard(t *testing.T) {
	t.Parallel()
	const resource = "https://notes.example.com/mcp"
	idp := testkit.IdP(t)
	guard := newGuard(idp.URL(), resource)
	enter := func(token string) (*transport.Principal, error) {
		return guard.Authenticate(t.Context(), http.Header{"Authorization": {"Bearer " + token}})
	}
	token := idp.Token("ann", resource, time.Hour, writeNotes)
	if p, err := enter(token); err != nil || p.Subject != "ann" || !slices.Contains(p.Scopes, readNotes) {
		t.Errorf("who writes may read: %+v, %v", p, err)
	}
	for name, token := range map[string]string{
		"expired":        idp.Token("ann", resource, -time.Hour, writeNotes),
		"another server": idp.Token("ann", "https://other.example.com/mcp", time.Hour, writeNotes),
		"without an end": idp.Sign(map[string]any{"iss": idp.URL(), "aud": resource, "sub": "ann"}),
	} {
		if _, err := enter(token); err == nil {
			t.Errorf("%s: it may enter", name)
		}
	}
}
