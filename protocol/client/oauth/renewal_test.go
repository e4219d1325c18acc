package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
	"github.com/kagami-mcp/kagami/testkit"
)

// 200 calls of two processes with a token that is no longer valid cause only one renewal.
func TestRenewalHappensOnce(t *testing.T) {
	t.Parallel()
	s, u, dir := open(t), &user{}, t.TempDir()
	private(t, dir)
	late := oauth.HTTPClient(&http.Client{Transport: lateTokens{}})
	one, two := flow(t, u.browser(t), oauth.Keep(oauth.File(dir)), late), flow(t, oauth.Keep(oauth.File(dir)), late)
	clients := []*client.Client{mustConnect(t, one, s.url), mustConnect(t, two, s.url)}
	for _, c := range clients {
		call(t, c, "hours", "ann")
	}
	s.revoke()
	var group sync.WaitGroup
	for n := range 200 {
		group.Go(func() {
			if got, err := client.Call[string](t.Context(), clients[n%2], "hours", nil); err != nil || got != "ann" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	group.Wait()
	if n := s.issuer.Requests("/token", "refresh_token"); n != 1 || u.seen() != 1 {
		t.Errorf("%d renewals, %d pages", n, u.seen())
	}
}

// A token is renewed before it expires.
func TestRenewalAhead(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.issuer.Lifetime(10 * time.Second) // renewed after five
	c := mustConnect(t, flow(t, (&user{}).browser(t)), s.url)
	start := time.Now()
	for ; s.issuer.Requests("/token", "refresh_token") == 0 && time.Since(start) < time.Minute; time.Sleep(50 * time.Millisecond) {
		call(t, c, "hours", "ann")
	}
	if took := time.Since(start); took > 9*time.Second {
		t.Errorf("the token was renewed after %s", took)
	}
}

// If the authorization server is unavailable, the client keeps its grant and asks nothing of the
// user.
func TestRenewalIssuerAway(t *testing.T) {
	t.Parallel()
	s, u := open(t), &user{}
	f := flow(t, u.browser(t))
	c := mustConnect(t, f, s.url)
	call(t, c, "hours", "ann")
	s.revoke()
	s.issuer.Fault(testkit.TokenDown)
	if _, err := client.Call[string](t.Context(), c, "hours", nil); !errors.Is(err, oauth.ErrUnavailable) {
		t.Errorf("while it is away: %v", err)
	}
	if grants, err := f.Grants(t.Context()); err != nil || len(grants) != 1 || !grants[0].Renewable {
		t.Errorf("grants %+v, %v", grants, err)
	}
	s.issuer.Fault()
	call(t, c, "hours", "ann")
	if u.seen() != 1 {
		t.Errorf("%d pages", u.seen())
	}
}

// A refused refresh token leads to a login page if there is a user, and otherwise to ErrLogin.
func TestRenewalRefused(t *testing.T) {
	t.Parallel()
	s, u, store := open(t), &user{}, oauth.Memory()
	var kinds []oauth.EventKind
	f := flow(t, u.browser(t), oauth.Keep(store), oauth.OnEvent(func(_ context.Context, e oauth.Event) { kinds = append(kinds, e.Kind) }))
	c := mustConnect(t, f, s.url)
	call(t, c, "hours", "ann")
	s.revoke()
	s.issuer.Fault(testkit.RefreshRevoked)
	quiet := flow(t, oauth.Keep(store))
	if _, err := connect(t, quiet, s.url); !errors.Is(err, oauth.ErrLogin) {
		t.Errorf("without a user: %v", err)
	}
	call(t, c, "hours", "ann")
	if u.seen() != 2 || s.issuer.Requests("/register") != 1 {
		t.Errorf("%d pages, %d registrations", u.seen(), s.issuer.Requests("/register"))
	}
	if want := []oauth.EventKind{oauth.Discovered, oauth.RegisteredNew, oauth.Asked, oauth.Granted, oauth.Discovered, oauth.Asked, oauth.Granted}; !slices.Equal(kinds, want) {
		t.Errorf("events %v", kinds)
	}
}

// An error response with status 200 counts as an error: a refused refresh token leads to a new
// login.
func TestRenewalRefusedWithStatus200(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"invalid_grant", "bad_refresh_token", "interaction_required", "consent_required", "login_required"} {
		s, u, store := open(t), &user{}, oauth.Memory()
		f := flow(t, u.browser(t), oauth.Keep(store), oauth.HTTPClient(&http.Client{Transport: gitHub{code}}))
		c := mustConnect(t, f, s.url)
		call(t, c, "hours", "ann")
		s.revoke()
		s.issuer.Fault(testkit.RefreshRevoked)
		quiet := flow(t, oauth.Keep(store), oauth.HTTPClient(&http.Client{Transport: gitHub{code}}))
		_, err := connect(t, quiet, s.url)
		if told, ok := errors.AsType[*oauth.Error](err); !ok || !errors.Is(err, oauth.ErrLogin) {
			t.Errorf("%s: %v", code, err)
		} else if told.Code != code && told.Code != "" {
			t.Errorf("%s: the error names %q", code, told.Code)
		}
		call(t, c, "hours", "ann")
		if n := s.issuer.Requests("/token", "refresh_token"); n != 1 || u.seen() != 2 {
			t.Errorf("%s: %d renewals, %d pages", code, n, u.seen())
		}
	}
}

// leaver ends a call just after the authorization server has answered it.
type leaver struct {
	armed atomic.Bool
	leave func()
}

func (l *leaver) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if r.URL.Path == "/token" && l.armed.Swap(false) {
		l.leave()
	}
	return resp, err
}

// A call that ends during a renewal does not lose the new refresh token.
func TestRenewalOutlivesItsCall(t *testing.T) {
	t.Parallel()
	s, u := open(t), &user{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := &leaver{leave: cancel}
	c := mustConnect(t, flow(t, u.browser(t), oauth.HTTPClient(&http.Client{Transport: l})), s.url)
	call(t, c, "hours", "ann")
	s.revoke()
	l.armed.Store(true)
	_, _ = client.Call[string](ctx, c, "hours", nil) // it ends with ctx, or its answer comes at the same moment
	if ctx.Err() == nil {
		t.Error("the token was not renewed")
	}
	call(t, c, "hours", "ann")
	if n := s.issuer.Requests("/token", "refresh_token"); n != 1 || u.seen() != 1 {
		t.Errorf("%d renewals, %d pages", n, u.seen())
	}
}

// fullStore is a store that keeps no tokens while it is full.
type fullStore struct {
	oauth.Store
	full atomic.Bool
}

func (f *fullStore) Put(ctx context.Context, r oauth.Record) (uint64, error) {
	if r.Key.Kind == oauth.Tokens && f.full.Load() {
		return 0, errors.New("no space left on device")
	}
	return f.Store.Put(ctx, r)
}

// TestTokensThatCannotBeSaved: the program that has obtained such tokens can use and renew them.
func TestTokensThatCannotBeSaved(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"login", "renewal"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			s, u, store := open(t), &user{}, &fullStore{Store: oauth.Memory()}
			f := flow(t, u.browser(t), oauth.Keep(store))
			if at == "renewal" {
				mustConnect(t, f, s.url)
				s.revoke()
			}
			store.full.Store(true)
			if _, err := connect(t, f, s.url); !errors.Is(err, oauth.ErrStore) {
				t.Errorf("the store is full: %v", err)
			}
			c := mustConnect(t, f, s.url)
			call(t, c, "hours", "ann")
			s.revoke()
			_, _ = client.Call[string](t.Context(), c, "hours", nil) // it renews, and reports the store again
			call(t, c, "hours", "ann")
			store.full.Store(false)
			s.revoke()
			call(t, c, "hours", "ann")
			want := map[string]int{"login": 2, "renewal": 3}[at]
			if n := s.issuer.Requests("/token", "refresh_token"); n != want || u.seen() != 1 {
				t.Errorf("%d renewals, want %d; %d pages", n, want, u.seen())
			}
			other := mustConnect(t, flow(t, u.browser(t), oauth.Keep(store)), s.url)
			if call(t, other, "hours", "ann"); u.seen() != 1 {
				t.Error("the tokens were not saved when there was space again")
			}
		})
	}
}

// kept returns the record of the tokens for a site, and the members of its JSON.
func kept(t *testing.T, store oauth.Store, s *shop) (r oauth.Record, members map[string]any) {
	t.Helper()
	r, err := store.Get(t.Context(), oauth.Key{Kind: oauth.Tokens, Issuer: s.issuer.URL(), Resource: s.url})
	if err == nil {
		err = json.Unmarshal(r.Data, &members)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r, members
}

// TestLoginThatCannotBeSaved: neither stored tokens of a former authorization server nor the use of many
// other servers replaces such a login. A logout ends it.
func TestLoginThatCannotBeSaved(t *testing.T) {
	t.Parallel()
	s, u, store := open(t), &user{}, &fullStore{Store: oauth.Memory()}
	mustConnect(t, flow(t, u.browser(t), oauth.Keep(store)), s.url)
	r, g := kept(t, store, s)
	g["access_token"], g["refresh_token"] = "former", ""
	former := oauth.Record{Key: oauth.Key{Kind: oauth.Tokens, Issuer: "https://former.example", Resource: s.url}}
	former.Data, _ = json.Marshal(g)
	if _, err := store.Put(t.Context(), former); err != nil {
		t.Fatal(err)
	}
	if err := store.Delete(t.Context(), r.Key, r.Version); err != nil {
		t.Fatal(err)
	}
	store.full.Store(true)
	f := flow(t, u.browser(t), oauth.Keep(store))
	if _, err := connect(t, f, s.url); !errors.Is(err, oauth.ErrStore) {
		t.Errorf("the store is full: %v", err)
	}
	for n := range 1001 {
		if _, err := f.Token(t.Context(), fmt.Sprintf("https://%d.example/mcp", n)); !errors.Is(err, oauth.ErrLogin) {
			t.Fatalf("a server without tokens: %v", err)
		}
	}
	c := mustConnect(t, f, s.url)
	s.revoke()
	_, _ = client.Call[string](t.Context(), c, "hours", nil) // it renews, and reports the store
	if call(t, c, "hours", "ann"); u.seen() != 2 {
		t.Errorf("%d pages, want 2", u.seen())
	}
	before := s.issuer.Requests("/revoke")
	if err := f.Logout(t.Context(), s.url); err != nil {
		t.Error(err)
	}
	if n := s.issuer.Requests("/revoke") - before; n < 2 {
		t.Errorf("%d tokens were revoked", n)
	}
	if _, err := f.Token(t.Context(), s.url); !errors.Is(err, oauth.ErrLogin) {
		t.Errorf("after the logout: %v", err)
	}
}

// TestRefusalThatCannotBeSaved: even then, a refused refresh token is not sent again, and the user can log
// in.
func TestRefusalThatCannotBeSaved(t *testing.T) {
	t.Parallel()
	s, u, store := open(t), &user{}, &fullStore{Store: oauth.Memory()}
	mustConnect(t, flow(t, u.browser(t), oauth.Keep(store)), s.url)
	r, g := kept(t, store, s)
	g["access_token"], g["refresh_token"] = "ended", "ended"
	r.Data, _ = json.Marshal(g)
	if _, err := store.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	store.full.Store(true)
	f := flow(t, u.browser(t), oauth.Keep(store))
	for _, at := range []string{"renewal", "login"} {
		if _, err := connect(t, f, s.url); !errors.Is(err, oauth.ErrStore) {
			t.Errorf("%s: the store is full: %v", at, err)
		}
	}
	call(t, mustConnect(t, f, s.url), "hours", "ann")
	if n := s.issuer.Requests("/token", "refresh_token"); n != 1 || u.seen() != 2 {
		t.Errorf("%d renewals, %d pages", n, u.seen())
	}
}

// A program that waits for a login of another process finds the tokens in the store, and renews them.
func TestLoginOfAnotherProcess(t *testing.T) {
	t.Parallel()
	s, u, store := open(t), &user{}, oauth.Memory()
	token, calls := flow(t, oauth.Keep(store)), flow(t, u.browser(t), oauth.Keep(store))
	for _, f := range []*oauth.Flow{token, calls} {
		if _, err := f.Token(t.Context(), s.url); !errors.Is(err, oauth.ErrLogin) {
			t.Errorf("before the login: %v", err)
		}
	}
	s.issuer.Lifetime(time.Second)
	if _, err := flow(t, (&user{}).browser(t), oauth.Keep(store)).Login(t.Context(), s.url); err != nil {
		t.Fatal(err)
	}
	s.issuer.Lifetime(time.Hour)
	time.Sleep(1100 * time.Millisecond)
	call(t, mustConnect(t, calls, s.url), "hours", "ann")
	if n := u.seen(); n != 0 {
		t.Errorf("%d pages, and the token can be renewed", n)
	}
	if got, err := token.Token(t.Context(), s.url); err != nil || got.Value == "" {
		t.Errorf("after the login: %v, %v", got, err)
	}
}

// The user is not asked again for scopes that another process has obtained.
func TestStepUpOfAnotherProcess(t *testing.T) {
	t.Parallel()
	s, u, store := open(t), &user{}, oauth.Memory()
	one := mustConnect(t, flow(t, u.browser(t), oauth.Keep(store)), s.url)
	two := mustConnect(t, flow(t, u.browser(t), oauth.Keep(store)), s.url)
	call(t, two, "hours", "ann")
	call(t, one, "refund", "paid")
	call(t, two, "refund", "paid")
	if n := u.seen(); n != 2 {
		t.Errorf("%d pages", n)
	}
}

// While the authorization server is away, calls with a valid token do not each ask it.
func TestRenewalAheadIssuerAway(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.issuer.Lifetime(20 * time.Second) // renewed ten seconds before its end
	c := mustConnect(t, flow(t, (&user{}).browser(t)), s.url)
	s.issuer.Fault(testkit.TokenDown)
	time.Sleep(10500 * time.Millisecond)
	for range 5 {
		call(t, c, "hours", "ann")
	}
	if n := s.issuer.Requests("/token", "refresh_token"); n != 1 {
		t.Errorf("%d renewals", n)
	}
}

// mover is the transport of a client. From some time on, the token endpoint of an issuer is at
// another URL, which the metadata names.
type mover struct {
	status atomic.Int64 // of the answer at the old URL; 0: the endpoint is still there
	stays  bool         // the metadata still names the old URL
}

func (m *mover) RoundTrip(r *http.Request) (*http.Response, error) {
	status := int(m.status.Load())
	switch {
	case status == 0:
		return http.DefaultTransport.RoundTrip(r)
	case r.URL.Path == "/token":
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader("<html>")), Header: http.Header{"Content-Type": {"text/html"}}, Request: r}, nil
	case r.URL.Path == "/token2":
		r = r.Clone(r.Context())
		r.URL.Path = "/token"
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || m.stays || !strings.HasPrefix(r.URL.Path, "/.well-known/") {
		return resp, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	resp.ContentLength, resp.Body = -1, io.NopCloser(strings.NewReader(strings.ReplaceAll(string(text), `/token"`, `/token2"`)))
	return resp, err
}

// While the token endpoint is away and the metadata still names it, no login helps, so the user sees no page.
func TestRenewalEndpointIsAway(t *testing.T) {
	t.Parallel()
	s, u, m, store := open(t), &user{}, &mover{stays: true}, oauth.Memory()
	web := oauth.HTTPClient(&http.Client{Transport: m})
	c := mustConnect(t, flow(t, u.browser(t), oauth.Keep(store), web), s.url)
	call(t, c, "hours", "ann")
	s.revoke()
	m.status.Store(404)
	if _, err := connect(t, flow(t, u.browser(t), oauth.Keep(store), web), s.url); err == nil || errors.Is(err, oauth.ErrLogin) || u.seen() != 1 {
		t.Errorf("%v, %d pages", err, u.seen())
	}
	m.status.Store(0)
	call(t, c, "hours", "ann")
	if u.seen() != 1 {
		t.Errorf("%d pages", u.seen())
	}
}

// Where the token endpoint has moved, only a login helps, which reads the metadata again. The refresh
// token is kept, because the endpoint may come back.
func TestRenewalEndpointHasMoved(t *testing.T) {
	t.Parallel()
	for _, status := range []int64{404, 405, 410} {
		s, u, m, store := open(t), &user{}, &mover{}, oauth.Memory()
		web := oauth.HTTPClient(&http.Client{Transport: m})
		c := mustConnect(t, flow(t, u.browser(t), oauth.Keep(store), web), s.url)
		call(t, c, "hours", "ann")
		s.revoke()
		m.status.Store(status)
		quiet := flow(t, oauth.Keep(store), web)
		if _, err := connect(t, quiet, s.url); !errors.Is(err, oauth.ErrLogin) {
			t.Errorf("%d, without a user: %v", status, err)
		}
		if grants, err := quiet.Grants(t.Context()); err != nil || len(grants) != 1 || !grants[0].Renewable {
			t.Errorf("%d: %+v, %v", status, grants, err)
		}
		call(t, c, "hours", "ann")
		if n := u.seen(); n != 2 {
			t.Errorf("%d: %d pages", status, n)
		}
	}
}
