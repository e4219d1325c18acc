package page_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kagami-mcp/kagami/framework/serve/page"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// denying is an Authorizer with a user who declines each login.
type denying struct{ logins atomic.Int32 }

func (d *denying) Do(c *http.Client, _ *url.URL, r *http.Request) (*http.Response, error) {
	response, err := c.Do(r)
	if err != nil || response.StatusCode != http.StatusUnauthorized {
		return response, err
	}
	_ = response.Body.Close()
	d.logins.Add(1)
	return nil, errors.New("the user has declined")
}

// TestDeclinedLogin: a login that the user has declined begins again only when the user wants it. A
// server that is gone is no declined login.
func TestDeclinedLogin(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	var login denying
	b := opened(t, page.Options{URL: server.URL, Authorize: client.Authorize(&login)})
	lines := b.events()
	var about struct{ State struct{ Name, Reason string } }
	for range 3 { // as with each reload of the page
		b.ask(http.MethodGet, "/api/server", "", &about)
		if n := login.logins.Load(); about.State.Name != "login" || !strings.Contains(about.State.Reason, "declined") || n != 1 {
			t.Fatalf("%+v after %d logins, want 1", about.State, n)
		}
	}
	b.ask(http.MethodPost, "/api/connect", `{"bearer":""}`, nil)
	if n := login.logins.Load(); n != 2 {
		t.Errorf("%d logins after the user wanted one more, want 2", n)
	}
	server.Close()
	b.ask(http.MethodPost, "/api/connect", `{}`, &about)
	if about.State.Name != "lost" {
		t.Errorf("without the server: %+v", about.State)
	}
	wait(t, lines, `"lost"`)
}
