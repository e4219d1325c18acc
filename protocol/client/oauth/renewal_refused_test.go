package oauth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol/client/oauth"
)

// refuser makes a token endpoint give the same answer to all refresh requests.
type refuser struct {
	status int
	body   string
}

func (f refuser) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/token" {
		return http.DefaultTransport.RoundTrip(r)
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if strings.Contains(string(text), "grant_type=refresh_token") {
		return &http.Response{StatusCode: f.status, Body: io.NopCloser(strings.NewReader(f.body)), Header: http.Header{}, Request: r}, nil
	}
	r.Body = io.NopCloser(strings.NewReader(string(text)))
	return http.DefaultTransport.RoundTrip(r)
}

// TestRenewalRefusals checks that each final refusal leads to a login, whatever its code, and that the
// refresh token is kept until then. After any other failure the user is not asked.
func TestRenewalRefusals(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		refuser
		want error
	}{
		"invalid_request":        {refuser{400, `{"error":"invalid_request"}`}, oauth.ErrLogin},
		"invalid_target":         {refuser{400, `{"error":"invalid_target"}`}, oauth.ErrLogin},
		"unsupported_grant_type": {refuser{400, `{"error":"unsupported_grant_type"}`}, oauth.ErrLogin},
		"its own code":           {refuser{200, `{"ok":false,"error":"token_expired"}`}, oauth.ErrLogin},
		"no code":                {refuser{200, `{"ok":false}`}, oauth.ErrLogin},
		"a page":                 {refuser{403, `<html>`}, oauth.ErrLogin},
		"an empty 401":           {refuser{401, ``}, oauth.ErrLogin},
		"503":                    {refuser{503, ``}, oauth.ErrUnavailable},
		"429":                    {refuser{429, `{"error":"slow_down"}`}, oauth.ErrUnavailable},
		"408":                    {refuser{408, ``}, oauth.ErrUnavailable},
		"server_error":           {refuser{400, `{"error":"server_error"}`}, oauth.ErrUnavailable},
		"a redirect":             {refuser{302, ``}, oauth.ErrDenied},
		"the proof":              {refuser{400, `{"error":"invalid_dpop_proof"}`}, oauth.ErrDenied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, u, store := open(t), &user{}, oauth.Memory()
			web := oauth.HTTPClient(&http.Client{Transport: tt.refuser})
			call(t, mustConnect(t, flow(t, u.browser(t), oauth.Keep(store), web), s.url), "hours", "ann")
			r, g := kept(t, store, s)
			refresh := g["refresh_token"]
			g["expires"] = time.Now().Add(-time.Minute)
			r.Data, _ = json.Marshal(g)
			if _, err := store.Put(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if _, err := flow(t, oauth.Keep(store), web).Token(t.Context(), s.url); !errors.Is(err, tt.want) {
				t.Errorf("without a user: %v; want %v", err, tt.want)
			}
			if _, g := kept(t, store, s); g["refresh_token"] != refresh {
				t.Errorf("the refresh token is now %v", g["refresh_token"])
			}
			_, err := connect(t, flow(t, u.browser(t), oauth.Keep(store), web), s.url)
			if asked := errors.Is(tt.want, oauth.ErrLogin); (err == nil) != asked || (u.seen() == 2) != asked {
				t.Errorf("with a user: %v, %d pages", err, u.seen())
			}
		})
	}
}

// An authorization server may repeat the secrets of a request that it refuses. The error does not.
func TestRefusalWithSecrets(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	robot := func(c oauth.Credentials) []oauth.Option {
		c.ID = "robot"
		return []oauth.Option{oauth.ClientCredentials(), oauth.Registered(c)}
	}
	const secret = "canary/secret+&: " // other characters in the body
	for name, opts := range map[string][]oauth.Option{
		"code":             nil,
		"secret":           robot(oauth.Credentials{Secret: secret, Method: "client_secret_post"}),
		"secret in header": robot(oauth.Credentials{Secret: secret, Method: "client_secret_basic"}),
		"client assertion": robot(oauth.Credentials{Key: key, Method: "private_key_jwt"}),
		"assertion":        {oauth.Assertion(func(context.Context, string, string) (string, error) { return "canary assertion", nil })},
		"proof":            {oauth.DPoP(nil, true)},
		"initial token":    {oauth.Register(oauth.Metadata{InitialToken: "canary token"})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, echo := open(t), &echoing{}
			if name == "initial token" {
				echo.all = true
			}
			_, err := flow(t, append(opts, (&user{}).browser(t), oauth.HTTPClient(&http.Client{Transport: echo}))...).Login(t.Context(), s.url)
			if err == nil || !strings.Contains(err.Error(), "(hidden)") || len(echo.sent) == 0 {
				t.Fatalf("%v; sent %q", err, echo.sent)
			}
			for _, secret := range echo.sent {
				if len(secret) > 7 && strings.Contains(err.Error(), secret) {
					t.Errorf("%q is in the error: %v", secret, err)
				}
			}
		})
	}
}

// echoing is an authorization server that repeats the secrets of a token request in its refusal.
type echoing struct {
	all  bool     // it also refuses to register clients
	sent []string // the secrets of the request, in all forms
}

func (e *echoing) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/token" && (r.URL.Path != "/register" || !e.all) {
		return http.DefaultTransport.RoundTrip(r)
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	form, _ := url.ParseQuery(string(text)) // fails for JSON
	for _, name := range []string{"code", "code_verifier", "client_secret", "client_assertion", "assertion"} {
		e.sent = append(e.sent, form.Get(name), url.QueryEscape(form.Get(name)))
	}
	_, password, _ := r.BasicAuth()
	plain, _ := url.QueryUnescape(password)
	_, credentials, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	e.sent = append(e.sent, password, plain, credentials, r.Header.Get("DPoP"))
	e.sent = slices.DeleteFunc(e.sent, func(secret string) bool { return secret == "" })
	answer, err := json.Marshal(map[string]string{"error": "wrong: " + e.sent[0], "error_description": "Got " + strings.Join(e.sent, ", ")})
	return &http.Response{StatusCode: http.StatusBadRequest, Body: io.NopCloser(strings.NewReader(string(answer))), Request: r}, err
}

// scopeless is an authorization server that lists scopes other than the granted ones in its
// answers. It may also refuse scopes in a refresh.
type scopeless struct {
	named   string // scopes in its answers; "": the granted ones
	refuses string // the error code; "": it takes them

	mu        sync.Mutex
	refreshes []string // scopes of the requests
}

func (l *scopeless) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/token" {
		return http.DefaultTransport.RoundTrip(r)
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(strings.NewReader(string(text)))
	if form, err := url.ParseQuery(string(text)); err == nil && form.Get("grant_type") == "refresh_token" {
		l.mu.Lock()
		l.refreshes = append(l.refreshes, form.Get("scope"))
		l.mu.Unlock()
		if l.refuses != "" && form.Has("scope") {
			refusal := `{"error":"` + l.refuses + `"}`
			return &http.Response{StatusCode: 400, Body: io.NopCloser(strings.NewReader(refusal)), Header: http.Header{}, Request: r}, nil
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || l.named == "" {
		return resp, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err = io.ReadAll(resp.Body)
	answer := regexp.MustCompile(`"scope":"[^"]*"`).ReplaceAllString(string(text), `"scope":"`+l.named+`"`)
	resp.ContentLength, resp.Body = -1, io.NopCloser(strings.NewReader(answer))
	return resp, err
}

// TestRenewal_NamesItsScopes checks that a refresh names the scopes of the grant. Otherwise some
// authorization servers issue a token with other scopes.
func TestRenewal_NamesItsScopes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		named   string
		refuses string
		stepUp  bool
		want    []string
	}{
		"as granted":                   {want: []string{"orders:read offline_access"}},
		"after a step-up":              {stepUp: true, want: []string{"orders:read orders:write offline_access"}},
		"offline_access is not listed": {named: "orders:read", want: []string{"orders:read offline_access"}},
		"refused":                      {refuses: "invalid_scope", want: []string{"orders:read offline_access", ""}},
		"refused, as by Salesforce":    {refuses: "invalid_request", want: []string{"orders:read offline_access", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, u, issuer := open(t), &user{}, &scopeless{named: tt.named, refuses: tt.refuses}
			c := mustConnect(t, flow(t, u.browser(t), oauth.HTTPClient(&http.Client{Transport: issuer})), s.url)
			call(t, c, "hours", "ann")
			pages := 1
			if tt.stepUp {
				call(t, c, "refund", "paid")
				pages++
			}
			s.revoke()
			call(t, c, "hours", "ann")
			issuer.mu.Lock()
			defer issuer.mu.Unlock()
			if !slices.Equal(issuer.refreshes, tt.want) || u.seen() != pages {
				t.Errorf("the refreshes ask for %q, want %q; %d pages", issuer.refreshes, tt.want, u.seen())
			}
		})
	}
}
