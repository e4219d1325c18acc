package interop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ory/fosite"
	"github.com/ory/fosite/compose"
	"github.com/ory/fosite/storage"
	"golang.org/x/oauth2"

	"github.com/kagami-mcp/kagami/middleware/authserver"
)

// issuing is an authorization server, without its pages: the user is there and agrees.
type issuing interface {
	// authorize returns a code.
	authorize(t *testing.T, client, scope string) string
	// post sends a form to an endpoint.
	post(t *testing.T, path string, form url.Values) (status int, body map[string]any)
}

const (
	appRedirect = "https://app.example/cb"
	appVerifier = "a-verifier-that-is-long-enough-for-rfc-7636-and-more"
)

func authorization(client, scope string) url.Values {
	return url.Values{
		"response_type": {"code"}, "client_id": {client}, "redirect_uri": {appRedirect}, "state": {"a-long-enough-state"}, "scope": {scope},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(appVerifier)}, "code_challenge_method": {"S256"},
	}
}

func posted(t *testing.T, h http.Handler, path string, form url.Values) (int, map[string]any) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var body map[string]any
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	return w.Code, body
}

// ours is package authserver.
type ours struct{ h http.Handler }

// always is a user who is there.
type always struct{}

func (always) Current(context.Context, *http.Request) (*authserver.User, error) {
	return &authserver.User{Subject: "ann"}, nil
}
func (always) Login(http.ResponseWriter, *http.Request, string) {}
func (always) Lookup(context.Context, string) (*authserver.User, error) {
	return &authserver.User{Subject: "ann"}, nil
}

func newOurs(t *testing.T) issuing {
	t.Helper()
	as, err := authserver.New("https://as.example", authserver.Own(always{}), authserver.Resource("https://mcp.example"), authserver.Grace(0), authserver.Limit(1, 1, 1<<30, nil),
		authserver.Scopes(authserver.Scope{Name: "read"}, authserver.Scope{Name: "write"}),
		authserver.Clients(authserver.Client{ID: "one", RedirectURIs: []string{appRedirect}}, authserver.Client{ID: "two", RedirectURIs: []string{appRedirect}}))
	if err != nil {
		t.Fatal(err)
	}
	return ours{as.Handler()}
}

func (o ours) post(t *testing.T, path string, form url.Values) (int, map[string]any) {
	t.Helper()
	return posted(t, o.h, path, form)
}

func (o ours) authorize(t *testing.T, client, scope string) string {
	t.Helper()
	w := httptest.NewRecorder()
	o.h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/authorize?"+authorization(client, scope).Encode(), nil))
	form := url.Values{"decision": {"approve"}}
	for _, input := range formInput.FindAllString(w.Body.String(), -1) {
		form.Set(inputName.FindStringSubmatch(input)[1], inputValue.FindStringSubmatch(input)[1])
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/consent", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, c := range w.Result().Cookies() {
		r.AddCookie(c)
	}
	w = httptest.NewRecorder()
	o.h.ServeHTTP(w, r)
	to, err := url.Parse(w.Header().Get("Location"))
	if err != nil || to.Query().Get("code") == "" {
		t.Fatalf("%d %v %s", w.Code, to, w.Body)
	}
	return to.Query().Get("code")
}

// theirs is fosite.
type theirs struct {
	provider fosite.OAuth2Provider
	h        http.Handler
}

func newTheirs() issuing {
	config := &fosite.Config{
		GlobalSecret: []byte("a secret of thirty-two bytes....."), EnforcePKCE: true, EnforcePKCEForPublicClients: true, RefreshTokenScopes: []string{},
		AuthorizeCodeLifespan: time.Minute, AccessTokenLifespan: 10 * time.Minute, ScopeStrategy: fosite.ExactScopeStrategy,
	}
	store := storage.NewMemoryStore()
	for _, id := range []string{"one", "two"} {
		store.Clients[id] = &fosite.DefaultClient{
			ID: id, Public: true, RedirectURIs: []string{appRedirect}, ResponseTypes: []string{"code"}, GrantTypes: []string{"authorization_code", "refresh_token"}, Scopes: []string{"read", "write"},
		}
	}
	f := &theirs{provider: compose.Compose(config, store, compose.NewOAuth2HMACStrategy(config),
		compose.OAuth2AuthorizeExplicitFactory, compose.OAuth2RefreshTokenGrantFactory, compose.OAuth2PKCEFactory, compose.OAuth2TokenRevocationFactory)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		ask, err := f.provider.NewAccessRequest(r.Context(), r, &fosite.DefaultSession{})
		if err != nil {
			f.provider.WriteAccessError(r.Context(), w, ask, err)
			return
		}
		answer, err := f.provider.NewAccessResponse(r.Context(), ask)
		if err != nil {
			f.provider.WriteAccessError(r.Context(), w, ask, err)
			return
		}
		f.provider.WriteAccessResponse(r.Context(), w, ask, answer)
	})
	mux.HandleFunc("POST /revoke", func(w http.ResponseWriter, r *http.Request) {
		f.provider.WriteRevocationResponse(r.Context(), w, f.provider.NewRevocationRequest(r.Context(), r))
	})
	f.h = mux
	return f
}

func (f *theirs) post(t *testing.T, path string, form url.Values) (int, map[string]any) {
	t.Helper()
	return posted(t, f.h, path, form)
}

func (f *theirs) authorize(t *testing.T, client, scope string) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/authorize?"+authorization(client, scope).Encode(), nil)
	ask, err := f.provider.NewAuthorizeRequest(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range ask.GetRequestedScopes() {
		ask.GrantScope(name)
	}
	answer, err := f.provider.NewAuthorizeResponse(t.Context(), ask, &fosite.DefaultSession{Subject: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetCode()
}

// grantOf is one that both have, with what they issued for it.
type grantOf struct {
	client  string
	codes   [2]string
	spoiled bool        // a wrong verifier was sent: fosite takes the code no more, ours does
	refresh [][2]string // the newest last
	access  [2]string
}

// TestSameAsFosite: over random sequences of logins, redemptions, refreshes and revocations, right and
// wrong, our server accepts and refuses what fosite does.
func TestSameAsFosite(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	accepted, refused := 0, 0
	for range 60 {
		both := [2]issuing{newOurs(t), newTheirs()}
		var grants []*grantOf
		var trace []string
		for range 40 {
			pick := rng.IntN(10)
			if pick == 0 || len(grants) == 0 {
				g := &grantOf{client: []string{"one", "two"}[rng.IntN(2)]}
				scope := []string{"read", "read write", ""}[rng.IntN(3)]
				for i, s := range both {
					g.codes[i] = s.authorize(t, g.client, scope)
				}
				grants = append(grants, g)
				trace = append(trace, fmt.Sprintf("authorize %s %q", g.client, scope))
				continue
			}
			n := rng.IntN(len(grants))
			g := grants[n]
			path, form, what := request(rng, g, pick)
			if form == nil {
				continue
			}
			trace = append(trace, fmt.Sprintf("grant %d: %s", n, what))
			var status [2]int
			var bodies [2]map[string]any
			for i, s := range both {
				status[i], bodies[i] = s.post(t, path, form[i])
			}
			if (status[0] == http.StatusOK) != (status[1] == http.StatusOK) {
				t.Fatalf("ours %d %v, fosite %d %v, seed %d, after\n%s", status[0], bodies[0], status[1], bodies[1], seed, strings.Join(trace, "\n"))
			}
			if path == "/revoke" {
				continue
			}
			if status[0] != http.StatusOK {
				refused++
				if bodies[0]["error"] != bodies[1]["error"] && bodies[0]["error"] != "invalid_grant" {
					t.Fatalf("ours %v, fosite %v, after\n%s", bodies[0], bodies[1], strings.Join(trace, "\n"))
				}
				continue
			}
			accepted++
			for i, b := range bodies {
				g.access[i], _ = b["access_token"].(string)
			}
			one, _ := bodies[0]["refresh_token"].(string)
			two, _ := bodies[1]["refresh_token"].(string)
			g.refresh = append(g.refresh, [2]string{one, two})
		}
	}
	t.Logf("%d accepted, %d refused", accepted, refused)
	if accepted < 200 || refused < 200 {
		t.Error("the sequences are all of one kind")
	}
}

// request is a random one about a grant; nil if there is nothing to ask.
func request(rng *rand.Rand, g *grantOf, pick int) (path string, form []url.Values, what string) {
	client := g.client
	if rng.IntN(8) == 0 {
		client = map[string]string{"one": "two", "two": "one"}[client]
	}
	switch {
	case pick < 5:
		verifier := appVerifier
		if rng.IntN(6) == 0 || g.spoiled {
			verifier, g.spoiled = "another-verifier-that-is-long-enough-for-rfc-7636", true
		}
		redirect := appRedirect
		if rng.IntN(8) == 0 {
			redirect += "/x"
		}
		for _, code := range g.codes {
			form = append(form, url.Values{"grant_type": {"authorization_code"}, "client_id": {client}, "code": {code}, "redirect_uri": {redirect}, "code_verifier": {verifier}})
		}
		return "/token", form, fmt.Sprintf("redeem as %s, %s, %s", client, redirect, verifier)
	case len(g.refresh) == 0:
		return "", nil, ""
	case pick < 9:
		k := len(g.refresh) - 1
		if rng.IntN(6) == 0 {
			k = rng.IntN(len(g.refresh))
		}
		for _, token := range g.refresh[k] {
			form = append(form, url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {token}})
		}
		return "/token", form, fmt.Sprintf("refresh %d of %d as %s", k, len(g.refresh), client)
	}
	for _, token := range g.refresh[len(g.refresh)-1] {
		form = append(form, url.Values{"client_id": {g.client}, "token": {token}})
	}
	return "/revoke", form, "revoke"
}
