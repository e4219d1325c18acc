package streamable_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// TestRefusedRequestDoesNotCountForOwner checks a request that names the session of another user. It is
// refused, and does not count as a call of that user.
func TestRefusedRequestDoesNotCountForOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &host{plan: resumable, log: &keeper{}, handle: func(context.Context, string, func(string) error) (int, string) {
			time.Sleep(time.Second)
			return http.StatusOK, `{"a":1}`
		}}
		s := newSite(t, h, streamable.Config{MaxCalls: 1})
		defer s.stop()
		alice := &site{t: t, e: s.e, user: "alice"}
		alice.session = field(alice.do(http.MethodPost, "initialize").Header, "Mcp-Session-Id")
		busy := alice.carry(alice.do(http.MethodPost, "x"), -1)
		if r := alice.do(http.MethodPost, "x"); r.Status != http.StatusTooManyRequests {
			t.Errorf("a second call of the user: %d", r.Status)
		}
		bob := &site{t: t, e: s.e, user: "bob", session: alice.session}
		if r := bob.do(http.MethodPost, "x"); r.Status != http.StatusNotFound {
			t.Errorf("a call of another user: %d", r.Status)
		}
		busy.wait()
	})
}

// TestSessionOwner: only the principal that opened a session can use it. The same name of another
// issuer is another principal.
func TestSessionOwner(t *testing.T) {
	t.Parallel()
	s := &site{t: t, e: streamable.New(&host{plan: resumable, log: &keeper{}, handle: func(context.Context, string, func(string) error) (int, string) {
		return http.StatusOK, `{"a":1}`
	}}, streamable.Config{StreamDelay: time.Minute})}
	defer s.stop()
	as := func(p *transport.Principal) context.Context { return transport.WithPrincipal(t.Context(), p) }
	alice := transport.Principal{Issuer: "https://a.example", Subject: "alice"}
	s.session = field(s.doContext(as(&alice), http.MethodPost, "initialize").Header, "Mcp-Session-Id")
	for name, tt := range map[string]struct {
		who    *transport.Principal
		status int
	}{
		"the owner":      {&alice, http.StatusOK},
		"another issuer": {&transport.Principal{Issuer: "https://b.example", Subject: "alice"}, http.StatusNotFound},
		"another name":   {&transport.Principal{Issuer: alice.Issuer, Subject: "bob"}, http.StatusNotFound},
		"nobody":         {nil, http.StatusNotFound},
	} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			if tt.status == http.StatusOK && method != http.MethodPost {
				continue
			}
			r := s.doContext(as(tt.who), method, "x")
			if r.Status != tt.status {
				t.Errorf("%s of %s: %d, want %d", method, name, r.Status, tt.status)
			}
			if r.Stream != nil { // the endpoint waits for it
				c := s.carry(r, -1)
				c.cancel()
				c.wait()
			}
		}
	}
}
