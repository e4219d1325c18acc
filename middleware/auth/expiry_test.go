package auth_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/transport"
)

// A stream that only listens ends with the token that opened it, on every binding; a
// session stays for the next token. The test waits for the end, whenever it comes.
func TestListeningEndsWithTheToken(t *testing.T) {
	t.Parallel()
	const life = 200 * time.Millisecond
	a := auth.Bearer(auth.VerifierFunc(func(_ context.Context, token string) (*transport.Principal, error) {
		p := &transport.Principal{Subject: "alice"}
		if token == "short" {
			p.Expires = time.Now().Add(life)
		}
		return p, nil
	}))
	overHTTP(t, a, func(t *testing.T, s *site) {
		events := []string{"Accept", "application/json, text/event-stream", "Content-Type", "application/json"}
		short, long := append(events, "Authorization", "Bearer short"), append(events, "Authorization", "Bearer long")
		session := s.initialize(t, "2025-06-18", "Authorization", "Bearer long").header.Get("Mcp-Session-Id")
		for name, open := range map[string]func() *answer{
			"GET": func() *answer {
				return s.send(t, http.MethodGet, "/mcp", "", append(short, "Mcp-Session-Id", session)...)
			},
			"SSE": func() *answer { return s.send(t, http.MethodGet, "/sse", "", short...) },
			"listen": func() *answer {
				body := strings.NewReplacer("tools/call", "subscriptions/listen", `"name":"whoami","arguments":{}`, `"notifications":{"toolsListChanged":true}`).Replace(whoami)
				return s.send(t, http.MethodPost, "/mcp", body, append(short, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")...)
			},
		} {
			began := time.Now()
			got := open() // until its end
			if took := time.Since(began); got.status != http.StatusOK || took < life {
				t.Errorf("%s: %d after %s: %s", name, got.status, took, got.body)
			}
			if name == "listen" && !strings.Contains(got.body, `"id":1`) {
				t.Errorf("listen was not answered: %s", got.body)
			}
		}
		if got := s.send(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":2,"method":"ping"}`, append(long, "Mcp-Session-Id", session)...); got.status != http.StatusOK {
			t.Errorf("the session: %d %s", got.status, got.body)
		}
	})
}
