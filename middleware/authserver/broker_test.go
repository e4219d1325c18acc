package authserver_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/middleware/authserver"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport"
)

// brokered is a site in front of a provider, at which it is registered as "shop".
func brokered(t *testing.T, p authserver.Provider, opts ...authserver.BrokerOption) (*site, *testkit.Issuer) {
	t.Helper()
	return brokeredWith(t, p, opts)
}

func brokeredWith(t *testing.T, p authserver.Provider, opts []authserver.BrokerOption, more ...authserver.Option) (*site, *testkit.Issuer) {
	t.Helper()
	idp := testkit.IdP(t)
	idp.Client("shop", "secret & more")
	p.Issuer, p.ClientID, p.ClientSecret = idp.URL(), "shop", "secret & more"
	return open(t, authserver.Broker(p, opts...), more...), idp
}

// arrive goes through our page and the provider, up to the callback.
func (b *browser) arrive(client string) *answer {
	b.t.Helper()
	at := b.press(b.do(http.MethodGet, b.s.ask(client), nil), "decision", "approve")
	if at.status != http.StatusSeeOther {
		b.t.Fatalf("%d %s", at.status, at.body)
	}
	back := b.do(http.MethodGet, at.to.String(), nil)
	if back.to == nil {
		b.t.Fatalf("the provider answers %d %s", back.status, back.body)
	}
	return back
}

// enter goes on to the client, and redeems the code.
func (b *browser) enter(client string) (access, refresh string) {
	b.t.Helper()
	a := b.do(http.MethodGet, b.arrive(client).to.String(), nil)
	if a.to == nil || a.to.Query().Get("code") == "" {
		b.t.Fatalf("%d %v %s", a.status, a.to, a.body)
	}
	got := b.s.redeem(client, a.to.Query().Get("code"))
	return got.text(b.t, "access_token"), got.text(b.t, "refresh_token")
}

func TestBroker(t *testing.T) {
	t.Parallel()
	for _, rev := range protocol.Revisions() {
		t.Run(rev.String(), func(t *testing.T) {
			t.Parallel()
			s, idp := brokered(t, authserver.Provider{})
			login := oauth.Client(oauth.Keep(oauth.Memory()), oauth.Browser(testkit.Browse(t)))
			c, err := client.Connect(t.Context(), client.HTTP(s.resource, login), client.Revisions(rev))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if who, err := client.Call[string](t.Context(), c, "whoami", nil); err != nil || who != "ann" {
				t.Errorf("%q, %v", who, err)
			}
			for _, r := range idp.Log() {
				if r.Path == "/authorize" && (r.Form.Get("scope") != "email offline_access openid" || r.Form.Get("code_challenge") == "" || r.Form.Get("redirect_uri") != s.issuer+"/callback/provider") {
					t.Errorf("asked the provider %v", r.Form)
				}
			}
		})
	}
}

// The token of the provider stays here: the client has another, and the guard takes only that.
func TestUpstream_IsNotTheCallersToken(t *testing.T) {
	t.Parallel()
	s, idp := brokered(t, authserver.Provider{})
	b, id := s.browser(), s.register(plainClient)
	got := s.redeem(id, b.do(http.MethodGet, b.arrive(id).to.String(), nil).to.Query().Get("code"))
	access := got.text(t, "access_token")
	p, ok := s.admits(access)
	if !ok {
		t.Fatal("the guard does not take the token")
	}
	up, err := s.server.Upstream(t.Context(), p)
	if err != nil || up.Value == "" || up.Scheme != "Bearer" {
		t.Fatalf("%v, %v", up, err)
	}
	if shown := fmt.Sprintf("%v %+v %#v", up, up, up); strings.Contains(shown, up.Value) {
		t.Error("formatting prints the token")
	}
	foreign := *p
	foreign.Issuer = "https://other.example"
	if _, err := s.server.Upstream(t.Context(), &foreign); !errors.Is(err, authserver.ErrNoUpstream) {
		t.Errorf("for the caller of another issuer: %v", err)
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(access, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	renewed := s.refresh(id, got.text(t, "refresh_token"))
	principal := fmt.Sprintf("%+v", *p)
	for name, seen := range map[string]string{"token answer": got.body, "token": string(payload), "answer to a refresh": renewed.body, "principal": principal} {
		if strings.Contains(seen, up.Value) {
			t.Errorf("the %s has the provider's token", name)
		}
	}
	if strings.Contains(principal, access) {
		t.Error("a handler gets the client's token")
	}
	if _, ok := s.admits(up.Value); ok {
		t.Error("the guard takes the provider's token")
	}
	idp.Lifetime(time.Second) // what is given from now on is to be renewed at once
	access, _ = s.browser().enter(s.register(plainClient))
	p, _ = s.admits(access)
	before := idp.Requests("/token", "refresh_token")
	if _, err := s.server.Upstream(t.Context(), p); err != nil || idp.Requests("/token", "refresh_token") != before+1 {
		t.Errorf("%d renewals, %v", idp.Requests("/token", "refresh_token")-before, err)
	}
	own := open(t, nil)
	access, _ = own.grant(own.register(plainClient), "ann")
	p, _ = own.admits(access)
	if _, err := own.server.Upstream(t.Context(), p); !errors.Is(err, authserver.ErrNoUpstream) {
		t.Errorf("in Own: %v", err)
	}
}

// The request to the provider, with its state, is made when the user has agreed, and not before.
func TestBroker_StateIsMadeAfterConsent(t *testing.T) {
	t.Parallel()
	store := &spy{Store: memory.New().Sessions()}
	s, _ := brokeredWith(t, authserver.Provider{}, nil, authserver.Store(store), authserver.Seal(bytes.Repeat([]byte{1}, 32)))
	requests := func() int {
		store.mu.Lock()
		defer store.mu.Unlock()
		return strings.Count(store.seen.String(), `"upstream":`)
	}
	b := s.browser()
	page := b.do(http.MethodGet, s.ask(s.register(plainClient)), nil)
	b.do(http.MethodGet, s.origin()+"/consent?visit="+page.fields().Get("visit"), nil)
	if n := requests(); n != 0 {
		t.Errorf("%d requests to the provider before the consent", n)
	}
	if at := b.press(page, "decision", "approve"); requests() != 1 || at.to == nil || at.to.Query().Get("state") == "" {
		t.Errorf("%d requests to the provider after the consent, %v", requests(), at.to)
	}
}

// The store has the provider's tokens only sealed, the first ones and the renewed ones.
func TestBroker_ProviderTokensAreSealed(t *testing.T) {
	t.Parallel()
	store := &spy{Store: memory.New().Sessions()}
	s, idp := brokeredWith(t, authserver.Provider{}, []authserver.BrokerOption{authserver.Vouch(0)}, authserver.Store(store), authserver.Seal(bytes.Repeat([]byte{1}, 32)))
	access, _ := s.browser().enter(s.register(plainClient))
	secrets := []string{}
	for range 2 { // each call renews the provider's tokens
		p, ok := s.admits(access)
		if !ok {
			t.Fatal("the guard does not take the token")
		}
		up, err := s.server.Upstream(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, up.Value)
	}
	for _, r := range idp.Log() {
		if r.Path == "/token" {
			secrets = append(secrets, r.Form.Get("refresh_token"), r.Form.Get("code"), r.Form.Get("code_verifier"))
		}
	}
	secrets = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(secrets))), func(secret string) bool { return secret == "" })
	if len(secrets) < 5 {
		t.Fatalf("%d secrets: some step gave none", len(secrets))
	}
	written := store.seen.String()
	for _, secret := range secrets {
		if strings.Contains(written, secret) {
			t.Errorf("%.20s is in the store", secret)
		}
	}
	if !strings.Contains(written, `"upstream":`) {
		t.Error("the store has no session of the provider")
	}
}

// The provider never asks; we always do (confused deputy), also for a client that the user has agreed to.
func TestBroker_NewClientIsAlwaysAskedFor(t *testing.T) {
	t.Parallel()
	s, idp := brokeredWith(t, authserver.Provider{}, nil, authserver.Remember(time.Hour))
	b, known := s.browser(), s.register(plainClient)
	b.enter(known)
	evil := s.register(`{"client_name":"Evil","redirect_uris":["https://evil.example/cb"]}`)
	before := idp.Requests("/authorize")
	for _, at := range []string{s.ask(known), s.ask(s.register(plainClient)), s.ask(evil, "redirect_uri", "https://evil.example/cb")} {
		page := b.do(http.MethodGet, at, nil, "Sec-Fetch-Site", "none")
		if page.status != http.StatusOK || page.to != nil || !strings.Contains(page.body, `name="decision"`) {
			t.Errorf("%d %v %s", page.status, page.to, page.body)
		}
	}
	if idp.Requests("/authorize") != before {
		t.Error("the provider was asked without consent")
	}
}

// The page names the scopes that the provider is asked for, whether they are the defaults, set, or
// mapped from the client's scopes.
func TestBroker_PageNamesTheProvidersScopes(t *testing.T) {
	t.Parallel()
	mapped := authserver.MapScopes(func(scopes []string) []string { return append([]string{"repo"}, scopes...) })
	for name, tt := range map[string]struct {
		scopes []string
		opts   []authserver.BrokerOption
		want   string
	}{
		"defaults": {want: "email, offline_access, openid"},
		"set":      {scopes: []string{"openid", "<i>"}, want: "&lt;i&gt;, openid"},
		"mapped":   {[]string{"openid", "repo"}, []authserver.BrokerOption{mapped}, "notes:read, notes:write, openid, repo"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, idp := brokered(t, authserver.Provider{Scopes: tt.scopes}, tt.opts...)
			b := s.browser()
			page := b.do(http.MethodGet, s.ask(s.register(plainClient)), nil)
			for _, want := range []string{"<strong>Tester</strong>", "<strong>127.0.0.1:7777</strong>", "<dt>This server requests there</dt><dd>" + tt.want + "</dd>"} {
				if !strings.Contains(page.body, want) {
					t.Errorf("%s is missing in %s", want, page.body)
				}
			}
			b.do(http.MethodGet, b.press(page, "decision", "approve").to.String(), nil)
			for _, r := range idp.Log() {
				if asked := strings.ReplaceAll(html.EscapeString(r.Form.Get("scope")), " ", ", "); r.Path == "/authorize" && asked != tt.want {
					t.Errorf("the provider was asked for %s", asked)
				}
			}
			if idp.Requests("/authorize") != 1 {
				t.Error("the provider was not asked")
			}
		})
	}
	own := open(t, nil)
	if page := own.browser().login(own.ask(own.register(plainClient)), "ann"); strings.Contains(page.body, "requests there") {
		t.Errorf("in Own: %s", page.body)
	}
}

// What one browser agreed to, another does not finish (CVE-2026-27124).
func TestBroker_CallbackFromAnotherBrowserIsRefused(t *testing.T) {
	t.Parallel()
	s, idp := brokered(t, authserver.Provider{})
	id := s.register(plainClient)
	attacker, victim := s.browser(), s.browser()
	back := attacker.arrive(id)
	victim.do(http.MethodGet, s.ask(id), nil) // has cookies of its own
	if a := victim.do(http.MethodGet, back.to.String(), nil); a.status < 400 || a.to != nil {
		t.Errorf("%d %v", a.status, a.to)
	}
	forged := *back.to // an attacker who knows the name of the visit, and sends the victim a code of their own
	q := forged.Query()
	q.Set("state", strings.Split(q.Get("state"), ".")[0]+".guess")
	forged.RawQuery = q.Encode()
	if a := attacker.do(http.MethodGet, forged.String(), nil); a.status < 400 || a.to != nil {
		t.Errorf("another state: %d %v", a.status, a.to)
	}
	if idp.Requests("/token") != 0 || s.happened(authserver.CodeIssued) != 0 {
		t.Error("the provider's code was used")
	}
	if a := attacker.do(http.MethodGet, back.to.String(), nil); a.to == nil || a.to.Query().Get("code") == "" {
		t.Errorf("the right browser: %d %s", a.status, a.body)
	}
}

// Each wrong response of the provider is refused, and no code is issued.
func TestBroker_WrongResponses(t *testing.T) {
	t.Parallel()
	for fault, told := range map[testkit.Fault]string{
		testkit.OmitIss: "page", testkit.WrongIss: "page", testkit.SlashIss: "page", testkit.TwiceCode: "page", testkit.ForeignState: "page",
		testkit.WrongNonce: "page", testkit.TokenDown: "page", testkit.Denies: "access_denied",
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			s, idp := brokered(t, authserver.Provider{})
			idp.Fault(fault)
			b := s.browser()
			a := b.do(http.MethodGet, b.arrive(s.register(plainClient)).to.String(), nil)
			if told == "page" && (a.to != nil || a.status < 400) || told != "page" && (a.to == nil || a.to.Query().Get("error") != told) {
				t.Errorf("%d %v %s", a.status, a.to, a.body)
			}
			if s.happened(authserver.CodeIssued) != 0 {
				t.Error("a code was issued")
			}
		})
	}
}

// While a provider's scopes cannot be read, there is no page to agree on.
func TestBroker_ProviderAwayAtThePage(t *testing.T) {
	t.Parallel()
	s, idp := brokered(t, authserver.Provider{})
	ask := s.ask(s.register(plainClient))
	idp.Down(true)
	if a := s.browser().do(http.MethodGet, ask, nil); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "does not answer") {
		t.Errorf("%d %s", a.status, a.body)
	}
	idp.Down(false)
	s.browser().enter(s.register(plainClient))
}

// A provider that is away at the callback is asked again when the page is loaded again.
func TestBroker_ProviderAwayAtTheCallback(t *testing.T) {
	t.Parallel()
	s, idp := brokered(t, authserver.Provider{})
	b := s.browser()
	back := b.arrive(s.register(plainClient))
	idp.Down(true)
	if a := b.do(http.MethodGet, back.to.String(), nil); a.status != http.StatusServiceUnavailable {
		t.Errorf("%d %s", a.status, a.body)
	}
	idp.Down(false)
	for range 2 { // the second time because the page is loaded twice
		if a := b.do(http.MethodGet, back.to.String(), nil); a.to == nil || a.to.Query().Get("code") == "" {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if n := s.happened(authserver.CodeIssued); n != 1 {
		t.Errorf("%d codes for one state", n)
	}
}

// A user whom the provider removes is out, with the access token that was still good.
func TestBroker_RemovedUserIsOut(t *testing.T) {
	t.Parallel()
	s, idp := brokered(t, authserver.Provider{}, authserver.Vouch(0))
	id := s.register(plainClient)
	access, refresh := s.browser().enter(id)
	p, ok := s.admits(access)
	if !ok {
		t.Fatal("the guard does not take the token")
	}
	idp.Fault(testkit.RefreshRevoked)
	if _, ok := s.admits(access); ok {
		t.Error("the guard takes the token of a removed user")
	}
	if _, err := s.server.Upstream(t.Context(), p); !errors.Is(err, authserver.ErrUnknown) || errors.Is(err, authserver.ErrNoUpstream) {
		t.Errorf("Upstream after the end: %v", err)
	}
	if a := s.refresh(id, refresh); a.status != http.StatusBadRequest || a.text(t, "error") != "invalid_grant" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if s.happened(authserver.UpstreamEnded) != 1 {
		t.Errorf("%+v", s.events)
	}
}

// The provider's word is believed for Vouch, and for twice that while it is away.
func TestBroker_Vouch(t *testing.T) {
	t.Parallel()
	s, idp := brokered(t, authserver.Provider{}, authserver.Vouch(3*time.Second))
	access, _ := s.browser().enter(s.register(plainClient))
	for range 3 {
		if _, ok := s.admits(access); !ok {
			t.Fatal("the guard does not take the token")
		}
	}
	if n := idp.Requests("/token", "refresh_token"); n != 0 {
		t.Errorf("%d renewals within Vouch", n)
	}
	idp.Down(true)
	time.Sleep(3100 * time.Millisecond)
	if _, ok := s.admits(access); !ok {
		t.Error("the last word is not believed for a while")
	}
	time.Sleep(3500 * time.Millisecond)
	if _, err := s.guard.Authenticate(t.Context(), http.Header{"Authorization": {"Bearer " + access}}); err == nil {
		t.Error("the provider is away for more than twice Vouch, and the token is taken")
	}
}

// Many calls at once make one renewal at the provider, whose tokens can be used once.
func TestBroker_OneRenewal(t *testing.T) {
	t.Parallel()
	s, idp := brokered(t, authserver.Provider{}, authserver.Vouch(3*time.Second))
	access, _ := s.browser().enter(s.register(plainClient))
	time.Sleep(3100 * time.Millisecond)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			if _, ok := s.admits(access); !ok {
				t.Error("a call was refused")
			}
		})
	}
	wg.Wait()
	if n := idp.Requests("/token", "refresh_token"); n != 1 {
		t.Errorf("%d renewals", n)
	}
}

// A provider without discovery says by Identity who a token belongs to; Admit decides who may come in.
func TestBroker_PlainOAuth(t *testing.T) {
	t.Parallel()
	idp := testkit.IdP(t)
	idp.Client("shop", "")
	mode := authserver.Broker(authserver.Provider{
		ClientID: "shop", Authorize: idp.URL() + "/authorize", Token: idp.URL() + "/token", RevokeURL: idp.URL() + "/revoke", Scopes: []string{"user"},
		Identity: func(_ context.Context, _ *authserver.UpstreamToken) (*authserver.User, error) {
			return &authserver.User{Subject: "4711", Name: "ann@example.com"}, nil
		},
	}, authserver.Admit(func(_ context.Context, claims map[string]any) (*authserver.User, error) {
		if claims["name"] != "ann@example.com" {
			return nil, errors.New("not one of us")
		}
		return &authserver.User{Subject: "ann of github"}, nil
	}), authserver.MapScopes(func([]string) []string { return []string{"repo"} }), authserver.Callback("/cb"))
	s := open(t, mode)
	access, _ := s.browser().enter(s.register(plainClient))
	if p, ok := s.admits(access); !ok || p.Subject != "ann of github" {
		t.Errorf("%v %+v", ok, p)
	}
	for _, r := range idp.Log() {
		if r.Path == "/authorize" && r.Form.Get("scope") != "repo user" {
			t.Errorf("%v", r.Form)
		}
	}
	if n, err := s.server.Revoke(t.Context(), "ann of github", ""); n != 1 || err != nil || idp.Requests("/revoke") != 1 {
		t.Errorf("%d, %v; %d revocations at the provider", n, err, idp.Requests("/revoke"))
	}
}

// gitHub answers token requests as GitHub does: an error has status 200 and a code of its own.
type gitHub struct {
	code atomic.Pointer[string]
	more string // members of a good answer; set before start
}

// answers sets the code of its refusals, or their status and body with a space between.
func (g *gitHub) answers(code string) { g.code.Store(&code) }

func (g *gitHub) start(t *testing.T) authserver.Provider {
	t.Helper()
	g.answers("")
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/authorize" {
			q := r.URL.Query()
			http.Redirect(w, r, q.Get("redirect_uri")+"?code=c&state="+url.QueryEscape(q.Get("state")), http.StatusSeeOther)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		code := *g.code.Load()
		if status, body, ok := strings.Cut(code, " "); ok {
			n, _ := strconv.Atoi(status)
			w.WriteHeader(n)
			_, _ = io.WriteString(w, body)
			return
		}
		if code != "" {
			_, _ = io.WriteString(w, `{"error":"`+code+`","error_description":"no"}`)
			return
		}
		_, _ = io.WriteString(w, `{"access_token":"a","token_type":"bearer","refresh_token":"r"`+g.more+`}`)
	}))
	web.Config.SetKeepAlivesEnabled(false)
	t.Cleanup(web.Close)
	return authserver.Provider{
		ClientID: "shop", Authorize: web.URL + "/authorize", Token: web.URL + "/token",
		Identity: func(context.Context, *authserver.UpstreamToken) (*authserver.User, error) {
			return &authserver.User{Subject: "4711"}, nil
		},
	}
}

// An error of the provider with status 200 counts as the error that it names. A bad code admits no
// user, a bad refresh token ends the grant, and a fault of this program's registration ends nothing.
func TestBroker_ErrorsWithStatus200(t *testing.T) {
	t.Parallel()
	hub := &gitHub{}
	s := open(t, authserver.Broker(hub.start(t), authserver.Vouch(0)))
	id := s.register(plainClient)
	for _, code := range []string{"bad_verification_code", "incorrect_client_credentials", "unauthorized_client"} {
		hub.answers(code)
		b := s.browser()
		if a := b.do(http.MethodGet, b.arrive(id).to.String(), nil); a.status != http.StatusForbidden || a.to != nil {
			t.Errorf("%s at the callback: %d %v", code, a.status, a.to)
		}
	}
	hub.answers("")
	access, _ := s.browser().enter(id)
	guarded := func() int {
		_, err := s.guard.Authenticate(t.Context(), http.Header{"Authorization": {"Bearer " + access}})
		if refused, ok := errors.AsType[*transport.AuthError](err); ok {
			return refused.Status
		}
		return http.StatusOK
	}
	if got := guarded(); got != http.StatusOK {
		t.Fatalf("%d", got)
	}
	hub.answers("incorrect_client_credentials")
	if got := guarded(); got != http.StatusServiceUnavailable || s.happened(authserver.UpstreamEnded) != 0 {
		t.Errorf("with wrong credentials of the program: %d", got)
	}
}

// TestBroker_BadRefreshTokenWithStatus200 checks that the grant ends if the provider refuses a
// refresh token with status 200, or wants the user to log in again.
func TestBroker_BadRefreshTokenWithStatus200(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"bad_refresh_token", "unauthorized_client", "interaction_required", "consent_required", "login_required"} {
		hub := &gitHub{}
		s := open(t, authserver.Broker(hub.start(t), authserver.Vouch(0)))
		access, _ := s.browser().enter(s.register(plainClient))
		hub.answers(code)
		_, err := s.guard.Authenticate(t.Context(), http.Header{"Authorization": {"Bearer " + access}})
		if refused, ok := errors.AsType[*transport.AuthError](err); !ok || refused.Status != http.StatusUnauthorized || s.happened(authserver.UpstreamEnded) != 1 {
			t.Errorf("%s: %v, %+v", code, err, s.events)
		}
	}
}

// A lifetime may be a number of any form, also in quotes, as Entra ID v1 sends it.
func TestBroker_LifetimeAsText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{`3600`: time.Hour, `"3600"`: time.Hour, `3600.0`: time.Hour, `3.6e3`: time.Hour, `0`: 0, `null`: 0, `-5`: 0, `1e300`: 1 << 31 * time.Second} {
		hub := &gitHub{more: `,"expires_in":` + text}
		s := open(t, authserver.Broker(hub.start(t)))
		access, _ := s.browser().enter(s.register(plainClient))
		p, _ := s.admits(access)
		up, err := s.server.Upstream(t.Context(), p)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if left := time.Until(up.Expires); up.Expires.IsZero() != (want == 0) || want > 0 && (left > want || left < want-time.Minute) {
			t.Errorf("%s: the token expires at %v", text, up.Expires)
		}
	}
}

// GitHub separates scopes by commas, and Twitch sends a list.
func TestBroker_Scopes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`"repo,gist"`: "[repo gist]", `"repo gist"`: "[repo gist]", `"repo, gist,"`: "[repo gist]", `""`: "[]",
		`["user:read:email","chat"]`: "[user:read:email chat]", `[]`: "[]", `null`: "[]",
	} {
		hub := &gitHub{more: `,"scope":` + text}
		s := open(t, authserver.Broker(hub.start(t)))
		access, _ := s.browser().enter(s.register(plainClient))
		p, _ := s.admits(access)
		if up, err := s.server.Upstream(t.Context(), p); err != nil || fmt.Sprint(up.Scopes) != want {
			t.Errorf("%q: %+v, %v", text, up, err)
		}
	}
}

// A replay ends the provider's session, too.
func TestBroker_ReplayGivesBack(t *testing.T) {
	t.Parallel()
	s, idp := brokered(t, authserver.Provider{})
	b, id := s.browser(), s.register(plainClient)
	code := b.do(http.MethodGet, b.arrive(id).to.String(), nil).to.Query().Get("code")
	s.redeem(id, code)
	if a := s.redeem(id, code); a.text(t, "error") != "invalid_grant" || idp.Requests("/revoke") != 1 {
		t.Errorf("%s; %d revocations at the provider", a.body, idp.Requests("/revoke"))
	}
}

func TestBroker_Admit(t *testing.T) {
	t.Parallel()
	s, _ := brokered(t, authserver.Provider{}, authserver.Admit(func(context.Context, map[string]any) (*authserver.User, error) {
		return nil, errors.New("geheim")
	}))
	b := s.browser()
	a := b.do(http.MethodGet, b.arrive(s.register(plainClient)).to.String(), nil)
	if a.to == nil || a.to.Query().Get("error") != "access_denied" || strings.Contains(a.to.String(), "geheim") {
		t.Errorf("%d %v %s", a.status, a.to, a.body)
	}
}
