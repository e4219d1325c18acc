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

// fresh is the app for sessions whose users are known without tokens: the way in is
// tested where there is one, over HTTP.
func fresh() *framework.App { return newApp(auth.Bearer(auth.Static{}), io.Discard, newCounters()) }

// ann as her token makes her.
func ann() testkit.Option { return testkit.User("ann", writeNotes, readNotes) }

// What each may is what each sees, wherever they come from.
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

// Without a principal, as on stdio, there are no notes, and no crash.
func TestNobody(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, fresh())
	if n := len(s.Tools()); n != 1 {
		t.Errorf("nobody sees %d tools", n)
	}
	s.CallRaw("whoami", "").IsError().Mentions("Nobody knows who you are.")
}

// The surface, the scopes that it needs included, is a file of its own.
func TestContract(t *testing.T) {
	t.Parallel()
	testkit.Contract(t, fresh, "testdata/mcp.lock")
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	n := &notes{byUser: map[user][]string{}}
	testkit.Mistakes(t, framework.Tool("add_note", n.add))
}

// Thirty calls a minute, for each user: none of these minutes passes.
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

// The guard is the program's, the issuer is not: keys that rotate, tokens that expire
// and tokens of somebody else's server are what the example's own issuer has not.
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
