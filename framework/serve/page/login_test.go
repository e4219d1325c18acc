package page_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/serve/page"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport/nethttp"
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

// forgotten is an Authorizer with a user who never finishes the first login.
type forgotten struct {
	logins atomic.Int32
	began  chan struct{} // closed when the first login has begun
}

func (f *forgotten) Do(c *http.Client, _ *url.URL, r *http.Request) (*http.Response, error) {
	if f.logins.Load() > 1 {
		r.Header.Set("Authorization", "Bearer open-sesame")
	}
	response, err := c.Do(r)
	if err != nil || response.StatusCode != http.StatusUnauthorized {
		return response, err
	}
	_ = response.Body.Close()
	if f.logins.Add(1) == 1 {
		close(f.began)
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	again := r.Clone(r.Context())
	again.Header.Set("Authorization", "Bearer open-sesame")
	if again.Body, err = r.GetBody(); err != nil {
		return nil, err
	}
	return c.Do(again)
}

// TestForgottenLogin: who connects again does not wait for a login without an end, and requests that
// have waited for it begin no other one.
func TestForgottenLogin(t *testing.T) {
	t.Parallel()
	inner := nethttp.Handler(host(t))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	login := &forgotten{began: make(chan struct{})}
	b := opened(t, page.Options{URL: server.URL, Authorize: client.Authorize(login)})
	var waiting sync.WaitGroup
	ask := func(method, path, body string, want ...int) {
		waiting.Go(func() {
			if answer := b.do(method, path, body, nil); !slices.Contains(want, answer.status) {
				t.Errorf("%s: %d %s", path, answer.status, answer.body)
			}
		})
	}
	ask(http.MethodPost, "/api/connect", "{}", http.StatusOK)
	<-login.began
	for range 3 {
		ask(http.MethodGet, "/api/offers", "", http.StatusOK, http.StatusConflict)
	}
	var about struct{ State struct{ Name string } }
	b.ask(http.MethodGet, "/api/server", "", &about)
	if about.State.Name != "connecting" {
		t.Errorf("during the login: %+v", about)
	}
	connected := make(chan struct{})
	go func() {
		defer close(connected)
		waiting.Wait()
	}()
	ask(http.MethodPost, "/api/connect", "{}", http.StatusOK)
	select {
	case <-connected:
	case <-time.After(20 * time.Second):
		t.Fatal("the new connection waits for the login")
	}
	b.ask(http.MethodGet, "/api/server", "", &about)
	if n := login.logins.Load(); about.State.Name != "connected" || n != 2 {
		t.Errorf("after connecting again: %+v, %d logins, want 2", about, n)
	}
}
