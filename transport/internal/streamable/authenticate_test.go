package streamable_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// TestAuthenticatorFails checks that the log shows, once a minute, that no caller can be
// authenticated now. It does not show the mistakes of single callers.
func TestAuthenticatorFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &host{plan: modern, auth: refusing{&transport.AuthError{Status: 503, Err: errors.New("no route to the issuer")}}}
		s := newSite(t, h, streamable.Config{})
		defer s.stop()
		for range 100 {
			s.do(http.MethodPost, "x")
			time.Sleep(time.Second)
		}
		if got := h.warned.take(); len(got) != 2 || !strings.Contains(got[1], "no route to the issuer") {
			t.Errorf("logged %q", got)
		}
		gone, cancel := context.WithCancel(t.Context())
		time.Sleep(time.Minute)
		cancel()
		s.doContext(gone, http.MethodPost, "x")
		h.auth = refusing{errors.New("a wrong token")}
		(&site{t: t, e: streamable.New(h, streamable.Config{})}).do(http.MethodPost, "x")
		if got := h.warned.take(); len(got) != 0 {
			t.Errorf("logged %q", got)
		}
	})
}

// TestPrincipalOfMiddleware: a caller that the program's own middleware has authenticated is not
// authenticated again.
func TestPrincipalOfMiddleware(t *testing.T) {
	t.Parallel()
	h := &host{plan: modern, auth: refusing{errors.New("a wrong token")}, handle: func(ctx context.Context, _ string, _ func(string) error) (int, string) {
		return http.StatusOK, `"` + transport.PrincipalFrom(ctx).Subject + `"`
	}}
	s := newSite(t, h, streamable.Config{StreamDelay: time.Minute})
	defer s.stop()
	s.user = "alice"
	if r := s.do(http.MethodPost, "x"); r.Status != http.StatusOK || string(r.Body) != `"alice"` {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}

// warning is an authenticator that can log a warning.
type warning struct {
	refusing
	say func(text string)
}

func (w *warning) SetWarn(warn func(text string)) { w.say = warn }

// TestAuthenticatorWarns checks that the host logs the warnings of the authenticator.
func TestAuthenticatorWarns(t *testing.T) {
	t.Parallel()
	auth := new(warning)
	h := &host{plan: modern, auth: auth}
	newSite(t, h, streamable.Config{}).stop()
	auth.say("the issuer is away")
	if got := h.warned.take(); len(got) != 1 || !strings.HasSuffix(got[0], ": the issuer is away") {
		t.Errorf("logged %q", got)
	}
}
