package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
	"github.com/kagami-mcp/kagami/testkit"
)

// A login on every revision: one page, and none for a second connection, also of another process.
func TestLogin(t *testing.T) {
	t.Parallel()
	for _, rev := range protocol.Revisions() {
		t.Run(rev.String(), func(t *testing.T) {
			t.Parallel()
			s, u, store := open(t), &user{}, oauth.Memory()
			f := flow(t, u.browser(t), oauth.Keep(store))
			call(t, mustConnect(t, f, s.url, client.Revisions(rev)), "hours", "ann")
			call(t, mustConnect(t, f, s.url, client.Revisions(rev)), "hours", "ann")
			call(t, mustConnect(t, flow(t, oauth.Keep(store)), s.url, client.Revisions(rev)), "hours", "ann")
			if u.seen() != 1 || s.issuer.Requests("/register") != 1 || s.issuer.Requests("/token") != 1 {
				t.Errorf("%d pages, %d registrations, %d token requests", u.seen(), s.issuer.Requests("/register"), s.issuer.Requests("/token"))
			}
			grants, err := f.Grants(t.Context())
			if err != nil || len(grants) != 1 || grants[0].Issuer != s.issuer.URL() || grants[0].Resource != s.url || !grants[0].Renewable ||
				grants[0].Known != oauth.ByRegistration || !slices.Equal(grants[0].Scopes, []string{"orders:read", "offline_access"}) {
				t.Errorf("grants %+v, %v", grants, err)
			}
		})
	}
}

// TestC30_TokenIsInEveryRequest checks that each request after a login has the token in its header, also
// within a session, and never in its query.
func TestC30_TokenIsInEveryRequest(t *testing.T) {
	t.Parallel()
	for _, rev := range protocol.Revisions() {
		s := open(t)
		f := flow(t, (&user{}).browser(t))
		if _, err := f.Login(t.Context(), s.url); err != nil {
			t.Fatal(err)
		}
		token, err := f.Token(t.Context(), s.url)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		methods := map[string]int{}
		s.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
			mu.Lock()
			defer mu.Unlock()
			methods[r.Method]++
			if got := r.Header.Values("Authorization"); !slices.Equal(got, []string{"Bearer " + token.Value}) || r.URL.RawQuery != "" {
				t.Errorf("%s: %s %s has the header %q", rev, r.Method, r.URL, got)
			}
			return false
		})
		c := mustConnect(t, f, s.url, client.Revisions(rev))
		call(t, c, "hours", "ann")
		call(t, c, "hours", "ann")
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		want := 3 // POST, GET and DELETE
		if rev == protocol.Rev20260728 {
			want = 1 // there are no sessions
		}
		if len(methods) != want {
			t.Errorf("%s: requests %v", rev, methods)
		}
	}
}

// The parameters that the specification demands are in each request.
func TestC21_ResourceIsInEveryRequest(t *testing.T) {
	t.Parallel()
	s, u := open(t), &user{}
	f := flow(t, u.browser(t))
	c := mustConnect(t, f, s.url)
	call(t, c, "hours", "ann")
	s.revoke()
	call(t, c, "hours", "ann")
	want := map[string]bool{"/authorize": true, "/token": true}
	for _, r := range s.issuer.Log() {
		if want[r.Path] && r.Form.Get("resource") != s.url {
			t.Errorf("%s without the resource: %v", r.Path, r.Form)
		}
		if r.Path == "/authorize" && (r.Form.Get("code_challenge_method") != "S256" || len(r.Form.Get("state")) < 43) {
			t.Errorf("the authorization request is %v", r.Form)
		}
	}
	if n := s.issuer.Requests("/token", "refresh_token"); n != 1 || u.seen() != 1 {
		t.Errorf("%d refreshes, %d pages", n, u.seen())
	}
}

// RFC 9207 §2.4, for codes and for errors: what comes from another issuer is neither redeemed nor
// shown.
func TestC25_IssuerOfResponses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		faults []testkit.Fault
		want   error
	}{
		"right":                {nil, nil},
		"not advertised":       {[]testkit.Fault{testkit.NoIss}, nil},
		"missing":              {[]testkit.Fault{testkit.OmitIss}, oauth.ErrMixUp},
		"wrong":                {[]testkit.Fault{testkit.WrongIss}, oauth.ErrMixUp},
		"not advertised wrong": {[]testkit.Fault{testkit.NoIss, testkit.WrongIss}, oauth.ErrMixUp},
		"slash":                {[]testkit.Fault{testkit.SlashIss}, oauth.ErrMixUp},
		"twice":                {[]testkit.Fault{testkit.TwiceCode}, oauth.ErrMixUp},
		"denied":               {[]testkit.Fault{testkit.Denies}, oauth.ErrDenied},
		"denied, wrong":        {[]testkit.Fault{testkit.Denies, testkit.WrongIss}, oauth.ErrMixUp},
		"denied, missing":      {[]testkit.Fault{testkit.Denies, testkit.OmitIss}, oauth.ErrMixUp},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, u := open(t), &user{}
			s.issuer.Fault(tt.faults...)
			_, err := connect(t, flow(t, u.browser(t)), s.url)
			if !errors.Is(err, tt.want) {
				t.Fatalf("%v; want %v", err, tt.want)
			}
			if tt.want == nil {
				return
			}
			if s.issuer.Requests("/token") != 0 {
				t.Error("a code was sent to the token endpoint")
			}
			shown := strings.Contains(err.Error(), "The user said no")
			if shown != errors.Is(err, oauth.ErrDenied) {
				t.Errorf("the text of the response: %v", err)
			}
		})
	}
}

func TestC20_PKCEMustBeAdvertised(t *testing.T) {
	t.Parallel()
	s, u := open(t), &user{}
	s.issuer.Fault(testkit.NoPKCE)
	for _, opts := range [][]oauth.Option{{}, {oauth.AssumePKCE("https://login.example.com")}} {
		_, err := connect(t, flow(t, append(opts, u.browser(t))...), s.url)
		if !errors.Is(err, oauth.ErrNoPKCE) || !strings.Contains(err.Error(), "--assume-pkce") || u.seen() != 0 {
			t.Errorf("%v, %d pages", err, u.seen())
		}
	}
	call(t, mustConnect(t, flow(t, u.browser(t), oauth.AssumePKCE(s.issuer.URL())), s.url), "hours", "ann")
}

func TestC9_MetadataOfAnotherIssuer(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.issuer.Fault(testkit.ForeignMetadata)
	_, err := connect(t, flow(t, (&user{}).browser(t)), s.url)
	if !errors.Is(err, oauth.ErrIssuer) || len(s.issuer.Log()) != 0 {
		t.Errorf("%v; requests %v", err, s.issuer.Log())
	}
}

// lateTokens delays token requests, so that two processes renew at the same time.
type lateTokens struct{}

func (lateTokens) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/token" {
		time.Sleep(100 * time.Millisecond)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// Where nothing can be renewed, one of many calls leads to a page.
func TestLoginHappensOnce(t *testing.T) {
	t.Parallel()
	s, u := open(t), &user{}
	s.issuer.Fault(testkit.NoRefresh)
	c := mustConnect(t, flow(t, u.browser(t)), s.url)
	call(t, c, "hours", "ann")
	s.revoke()
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			if got, err := client.Call[string](t.Context(), c, "hours", nil); err != nil || got != "ann" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	group.Wait()
	if u.seen() != 2 {
		t.Errorf("%d pages", u.seen())
	}
}

// Two processes without a token send the user to one page.
func TestLoginOfTwoProcesses(t *testing.T) {
	t.Parallel()
	s, u, dir := open(t), &user{delay: 100 * time.Millisecond}, private(t, t.TempDir())
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if g, err := flow(t, u.browser(t), oauth.Keep(oauth.File(dir))).Login(t.Context(), s.url); err != nil || g.Server != s.url {
				t.Errorf("%+v, %v", g, err)
			}
		})
	}
	group.Wait()
	if u.seen() != 1 {
		t.Errorf("%d pages", u.seen())
	}
	more := flow(t, u.browser(t), oauth.Keep(oauth.File(dir)))
	if g, err := more.Login(t.Context(), s.url, "orders:write"); err != nil || !slices.Contains(g.Scopes, "orders:write") || u.seen() != 2 {
		t.Errorf("with more scopes: %+v, %v, %d pages", g, err, u.seen())
	}
}

// gitHub makes answers of a token endpoint like GitHub's: each error has status 200.
type gitHub struct{ code string } // its word for invalid_grant

func (g gitHub) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || r.URL.Path != "/token" || resp.StatusCode != http.StatusBadRequest {
		return resp, err
	}
	_ = resp.Body.Close()
	resp.StatusCode, resp.ContentLength = http.StatusOK, -1
	resp.Body = io.NopCloser(strings.NewReader(`{"error":"` + g.code + `","error_description":"not good"}`))
	return resp, nil
}

// A 403 leads to one authorization with the union of scopes, not to a renewal.
func TestC33_StepUp(t *testing.T) {
	t.Parallel()
	for _, rev := range protocol.Revisions() {
		t.Run(rev.String(), func(t *testing.T) {
			t.Parallel()
			s, u := open(t), &user{}
			c := mustConnect(t, flow(t, u.browser(t)), s.url, client.Revisions(rev))
			call(t, c, "hours", "ann")
			call(t, c, "refund", "paid")
			call(t, c, "refund", "paid")
			var asked []string
			for _, r := range s.issuer.Log() {
				if r.Path == "/authorize" {
					asked = append(asked, r.Form.Get("scope"))
				}
			}
			if want := []string{"orders:read offline_access", "orders:read orders:write offline_access"}; !slices.Equal(asked, want) {
				t.Errorf("asked for %q", asked)
			}
			if n := s.issuer.Requests("/token", "refresh_token"); n != 0 || u.seen() != 2 {
				t.Errorf("%d renewals, %d pages", n, u.seen())
			}
		})
	}
}

// A user who refuses is not asked again at once.
func TestStepUpRefused(t *testing.T) {
	t.Parallel()
	s, u := open(t), &user{}
	c := mustConnect(t, flow(t, u.browser(t)), s.url)
	s.issuer.Fault(testkit.Denies)
	for range 3 {
		if _, err := client.Call[string](t.Context(), c, "refund", nil); !errors.Is(err, oauth.ErrScope) || !strings.Contains(err.Error(), "orders:write") {
			t.Errorf("%v", err)
		}
	}
	if u.seen() != 2 {
		t.Errorf("%d pages", u.seen())
	}
	call(t, c, "hours", "ann")

	never := flow(t, u.browser(t), oauth.StepUps(0, time.Minute))
	s.issuer.Fault()
	_, err := client.Call[string](t.Context(), mustConnect(t, never, s.url), "refund", nil)
	if refused, ok := errors.AsType[*client.HTTPError](err); !ok || refused.Status != http.StatusForbidden {
		t.Errorf("without step-ups: %v", err)
	}
}

// refusedAside is a transport to a server that refuses the stream of unsolicited messages for want of
// scopes, and the end of the session for want of a token.
type refusedAside struct {
	server  string
	refused *atomic.Int32
}

func (r refusedAside) RoundTrip(req *http.Request) (*http.Response, error) {
	status, challenge := 0, ""
	switch req.Method {
	case http.MethodGet:
		status, challenge = http.StatusForbidden, `Bearer error="insufficient_scope", scope="orders:write"`
	case http.MethodDelete:
		status, challenge = http.StatusUnauthorized, `Bearer error="invalid_token"`
	}
	if status == 0 || req.URL.String() != r.server {
		return http.DefaultTransport.RoundTrip(req)
	}
	r.refused.Add(1)
	return &http.Response{StatusCode: status, Header: http.Header{"Www-Authenticate": {challenge}}, Body: http.NoBody, Request: req}, nil
}

// TestNoLoginAside: a user who does something else is not sent to a page for a stream of unsolicited
// messages, nor for the end of a session.
func TestNoLoginAside(t *testing.T) {
	t.Parallel()
	s, u := open(t), &user{}
	aside := refusedAside{s.url, new(atomic.Int32)}
	c, err := client.Connect(t.Context(), client.HTTP(s.url, flow(t, u.browser(t)).HTTP(), client.HTTPClient(&http.Client{Transport: aside})), client.Revisions(protocol.Rev20251125))
	if err != nil {
		t.Fatal(err)
	}
	call(t, c, "hours", "ann")
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if n := aside.refused.Load(); n < 2 || u.seen() != 1 {
		t.Errorf("%d pages after %d refusals, want only the page of the first login", u.seen(), n)
	}
}

// A login may take longer than a server may take to answer the first request.
func TestLoginTakesItsTime(t *testing.T) {
	t.Parallel()
	s, u := open(t), &user{delay: 600 * time.Millisecond}
	for _, revs := range [][]protocol.Revision{protocol.Revisions(), {protocol.Rev20251125}, {protocol.Rev20241105}} {
		c := mustConnect(t, flow(t, u.browser(t)), s.url, client.ProbeTimeout(100*time.Millisecond), client.Revisions(revs...))
		call(t, c, "hours", "ann")
	}
}

// A token never goes to another server, also not over a redirect.
func TestC31_TokensStayWithTheirServer(t *testing.T) {
	t.Parallel()
	s, u := open(t), &user{}
	f := flow(t, u.browser(t))
	call(t, mustConnect(t, f, s.url), "hours", "ann")
	var seen []string
	var mu sync.Mutex
	other := script(t, nil)
	other.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Header.Get("Authorization")+r.Header.Get("DPoP"))
		mu.Unlock()
		if strings.HasPrefix(r.URL.Path, "/to") {
			http.Redirect(w, r, s.url, http.StatusTemporaryRedirect)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	})
	for _, place := range []string{"/mcp", "/to"} {
		if _, err := connect(t, f, other.URL+place); err == nil {
			t.Errorf("%s was connected", place)
		}
	}
	s.mu.Lock()
	s.away = other.URL + "/mcp"
	s.mu.Unlock()
	if _, err := connect(t, f, s.url); err == nil {
		t.Error("a server that redirects was connected")
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) == 0 || strings.Join(seen, "") != "" {
		t.Errorf("the other server has seen %q", seen)
	}
}

// TestC31_TwoServersOfOneResource checks that two servers have tokens of their own if their metadata names one
// resource: a login at one neither ends the login at the other, nor is it used there.
func TestC31_TwoServersOfOneResource(t *testing.T) {
	t.Parallel()
	issuer, u, store := testkit.IdP(t), &user{}, oauth.Memory()
	s := script(t, map[string]string{
		"/a": "401|challenge Bearer", "/b": "401|challenge Bearer", "/a/c": "401|challenge Bearer",
		prmPath: fmt.Sprintf(`{"resource":"URL","authorization_servers":[%q]}`, issuer.URL()),
	})
	for _, place := range []string{"/a", "/b"} {
		if _, err := flow(t, u.browser(t), oauth.Keep(store)).Login(t.Context(), s.URL+place); err != nil {
			t.Fatal(err)
		}
	}
	for place, want := range map[string]bool{"/a": true, "/b": true, "/a/c": false} {
		in, err := flow(t, oauth.Keep(store)).Inspect(t.Context(), s.URL+place)
		if err != nil || (in.Grant != nil) != want || want && (in.Grant.Server != s.URL+place || in.Grant.Resource != s.URL) {
			t.Errorf("%s: grant %+v, %v; want one: %v", place, in.Grant, err, want)
		}
	}
}

// heldStore is a store that delays Put for the tokens of one issuer until release is closed.
type heldStore struct {
	oauth.Store
	issuer  string
	release <-chan struct{}
}

func (h *heldStore) Put(ctx context.Context, r oauth.Record) (uint64, error) {
	if r.Key.Kind == oauth.Tokens && r.Key.Issuer == h.issuer {
		select {
		case <-h.release:
		case <-ctx.Done():
		}
	}
	return h.Store.Put(ctx, r)
}

// TestLoginsAtTwoServers checks that a login that ends does not close the listener of the next one.
func TestLoginsAtTwoServers(t *testing.T) {
	t.Parallel()
	a, b := open(t), open(t)
	atA, atB, endA := make(chan struct{}), make(chan struct{}), make(chan struct{})
	next := testkit.Browse(t)
	browser := oauth.Browser(func(ctx context.Context, address string) error {
		if strings.HasPrefix(address, a.issuer.URL()) {
			close(atA)
			return next(ctx, address)
		}
		close(atB)
		select {
		case <-endA:
		case <-ctx.Done():
		}
		return next(ctx, address)
	})
	f := flow(t, browser, oauth.Keep(&heldStore{oauth.Memory(), a.issuer.URL(), atB}))
	var group sync.WaitGroup
	group.Go(func() {
		defer close(endA)
		if _, err := f.Login(t.Context(), a.url); err != nil {
			t.Errorf("the first login: %v", err)
		}
	})
	select {
	case <-atA:
	case <-endA: // the first login has failed without a page
	}
	if _, err := f.Login(t.Context(), b.url); err != nil {
		t.Errorf("the second login: %v", err)
	}
	group.Wait()
}

// TestProfiles checks that each account of a user has tokens of its own.
func TestProfiles(t *testing.T) {
	t.Parallel()
	s, u, store := open(t), &user{}, oauth.Memory()
	for _, name := range []string{"", "home", "work", "home"} {
		call(t, mustConnect(t, flow(t, u.browser(t), oauth.Keep(store), oauth.Profile(name)), s.url), "hours", "ann")
	}
	if u.seen() != 3 {
		t.Errorf("%d logins for three accounts", u.seen())
	}
}

// Credentials by hand, secret and all, go to their issuer only.
func TestC18_CredentialsBelongToAnIssuer(t *testing.T) {
	t.Parallel()
	one, two, store := open(t), open(t), oauth.Memory()
	for _, s := range []*shop{one, two} {
		s.issuer.Client("me", "s3cret")
		s.issuer.Fault(testkit.NoRegistration)
	}
	opts := []oauth.Option{(&user{}).browser(t), oauth.Keep(store), oauth.Registered(oauth.Credentials{ID: "me", Secret: "s3cret"})}
	call(t, mustConnect(t, flow(t, opts...), one.url), "hours", "ann")
	_, err := connect(t, flow(t, opts...), two.url)
	if !errors.Is(err, oauth.ErrForeign) || len(two.issuer.Log()) != 0 {
		t.Errorf("%v; requests %v", err, two.issuer.Log())
	}
	if err := flow(t, opts...).Logout(t.Context(), one.url, oauth.Forget()); err != nil {
		t.Error(err)
	}
	call(t, mustConnect(t, flow(t, opts...), two.url), "hours", "ann")

	named := flow(t, (&user{}).browser(t), oauth.Registered(oauth.Credentials{Issuer: one.issuer.URL(), ID: "me", Secret: "s3cret"}))
	if _, err := connect(t, named, two.url); !errors.Is(err, oauth.ErrForeign) {
		t.Errorf("named: %v", err)
	}
}

// TestC6_ServerNamesAnotherIssuer checks that the tokens of the old authorization server are not renewed
// when the server no longer names it: the user logs in at the new one.
func TestC6_ServerNamesAnotherIssuer(t *testing.T) {
	t.Parallel()
	s, u, other := open(t), &user{}, testkit.IdP(t)
	events := make(chan oauth.EventKind, 20)
	c := mustConnect(t, flow(t, u.browser(t), oauth.OnEvent(func(_ context.Context, e oauth.Event) { events <- e.Kind })), s.url)
	call(t, c, "hours", "ann")
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"resource":%q,"authorization_servers":[%q]}`, s.url, other.URL())
	}))
	t.Cleanup(metadata.Close)
	s.intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer resource_metadata=%q", metadata.URL))
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	if _, err := c.CallTool(t.Context(), "hours", nil); !errors.Is(err, oauth.ErrDenied) { // this server refuses all tokens
		t.Errorf("%v", err)
	}
	if n, pages := s.issuer.Requests("/token", "refresh_token"), u.seen(); n != 0 || pages != 2 {
		t.Errorf("%d renewals at the old issuer, %d pages, want 0 and 2", n, pages)
	}
	if n := other.Requests("/token"); n != 1 {
		t.Errorf("%d requests for a token at the new issuer, want 1", n)
	}
	close(events)
	moved := false
	for kind := range events {
		moved = moved || kind == oauth.Moved
	}
	if !moved {
		t.Error("there is no event about the move")
	}
}

// A registration is used again with its own redirect URI, and only with that.
func TestRegistrationIsKept(t *testing.T) {
	t.Parallel()
	s, store := open(t), oauth.Memory()
	login := func(opts ...oauth.Option) {
		t.Helper()
		f := flow(t, append(opts, (&user{}).browser(t), oauth.Keep(store))...)
		if _, err := f.Login(t.Context(), s.url, "orders:write"); err != nil {
			t.Error(err)
		}
	}
	login()
	login()
	if n := s.issuer.Requests("/register"); n != 1 {
		t.Errorf("%d registrations", n)
	}
	login(oauth.Receive(oauth.Listener(oauth.Localhost())))
	if n := s.issuer.Requests("/register"); n != 2 {
		t.Errorf("%d registrations after the redirect URI has changed", n)
	}
	s.issuer.Client("me", "")
	login(oauth.Registered(oauth.Credentials{ID: "me"}))
	login(oauth.Receive(oauth.Listener(oauth.Localhost())))
	if n := s.issuer.Requests("/register"); n != 2 {
		t.Errorf("%d registrations after a client by hand", n)
	}
}

func TestClientCredentials(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.issuer.Client("robot", "s3cret")
	f := flow(t, oauth.ClientCredentials(), oauth.Registered(oauth.Credentials{ID: "robot", Secret: "s3cret"}))
	c := mustConnect(t, f, s.url)
	call(t, c, "hours", "robot")
	call(t, c, "refund", "paid")
	s.revoke()
	call(t, c, "refund", "paid")
	token, err := f.Token(t.Context(), s.url)
	if err != nil || token.Scheme != "Bearer" || token.Value == "" || len(token.Scopes) == 0 {
		t.Fatalf("token %v, %v", token, err)
	}
	token.Scopes[0] = "changed" // it belongs to the caller
	if token, err := f.Token(t.Context(), s.url); err != nil || token.Scopes[0] == "changed" {
		t.Errorf("a caller has changed the scopes of the grant: %v", err)
	}
	wrong := flow(t, oauth.ClientCredentials(), oauth.Registered(oauth.Credentials{ID: "robot", Secret: "wrong"}))
	if _, err := connect(t, wrong, s.url); !errors.Is(err, oauth.ErrDenied) || strings.Contains(err.Error(), "wrong\"") {
		t.Errorf("with a wrong secret: %v", err)
	}
}

func TestLogout(t *testing.T) {
	t.Parallel()
	s, u := open(t), &user{}
	f := flow(t, u.browser(t))
	c := mustConnect(t, f, s.url)
	call(t, c, "hours", "ann")
	if err := f.Logout(t.Context(), s.url, nil); err == nil || !strings.Contains(err.Error(), "is nil") {
		t.Errorf("a nil option: %v", err)
	}
	if err := f.Logout(t.Context(), s.url); err != nil {
		t.Error(err)
	}
	if n := s.issuer.Requests("/revoke"); n != 2 {
		t.Errorf("%d revocations", n)
	}
	if grants, err := f.Grants(t.Context()); err != nil || len(grants) != 0 {
		t.Errorf("grants %+v, %v", grants, err)
	}
	if _, err := f.Token(t.Context(), s.url); !errors.Is(err, oauth.ErrLogin) {
		t.Errorf("token: %v", err)
	}
	if err := f.Logout(t.Context(), s.url, oauth.Forget()); err != nil {
		t.Errorf("again: %v", err)
	}
	call(t, mustConnect(t, f, s.url), "hours", "ann")
	if u.seen() != 2 {
		t.Errorf("%d pages", u.seen())
	}
}

// The client declares how it gets its tokens, on every revision; a login of a user is no extension.
func TestExtensionsAreDeclared(t *testing.T) {
	t.Parallel()
	s, u := open(t), &user{}
	s.issuer.Client("robot", "s3cret")
	byUser := flow(t, u.browser(t))
	byItself := flow(t, oauth.ClientCredentials(), oauth.Registered(oauth.Credentials{ID: "robot", Secret: "s3cret"}))
	for _, rev := range protocol.Revisions() {
		for f, want := range map[*oauth.Flow]bool{byUser: false, byItself: true} {
			var mu sync.Mutex
			var sent strings.Builder
			mustConnect(t, f, s.url, client.Revisions(rev), client.OnFrame(func(_ context.Context, f client.Frame) {
				mu.Lock()
				defer mu.Unlock()
				if f.Sent {
					sent.Write(f.Text)
				}
			}))
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(sent.String(), `"extensions":{"io.modelcontextprotocol/oauth-client-credentials":{}}`) != want {
				t.Errorf("%s: %s", rev, sent.String())
			}
		}
	}
}
