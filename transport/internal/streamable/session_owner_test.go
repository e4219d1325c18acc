package streamable_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

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
