package authserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware/authserver"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/testkit/transporttest"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

func TestMain(m *testing.M) {
	if file := os.Getenv(envFile); file != "" {
		fmt.Fprintln(os.Stderr, serveFile(file, os.Getenv(envAddress)))
		os.Exit(1)
	}
	http.DefaultClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	goleak.VerifyTestMain(transporttest.Settled(m))
}

// site is an authorization server with a resource server beside it.
type site struct {
	t        *testing.T
	issuer   string
	resource string
	server   *authserver.Server
	guard    transport.Authenticator

	mu     sync.Mutex // guards events
	events []authserver.Event
}

func ann() authserver.User {
	return authserver.User{Subject: "ann", Name: "Ann Miller", Claims: map[string]any{"team": "red"}}
}

func bob() authserver.User { return authserver.User{Subject: "bob", Scopes: []string{"notes:read"}} }

func noteScopes() authserver.Option {
	return authserver.Scopes(
		authserver.Scope{Name: "notes:read", Text: "Read your notes", Default: true},
		authserver.Scope{Name: "notes:write", Text: "Write notes", Implies: []string{"notes:read"}},
	)
}

// open starts both halves. mode nil: Own with ann and bob.
func open(t *testing.T, mode authserver.Mode, opts ...authserver.Option) *site {
	t.Helper()
	return openAt(t, "", mode, opts...)
}

func openAt(t *testing.T, path string, mode authserver.Mode, opts ...authserver.Option) *site {
	t.Helper()
	if mode == nil {
		mode = authserver.Own(authserver.DevLogin(ann(), bob()))
	}
	s := &site{t: t}
	pages := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.server.Handler().ServeHTTP(w, r) })
	s.resource = testkit.Serve(t, func(at string) *framework.App {
		s.issuer = strings.TrimSuffix(at, "/mcp") + path
		server, err := authserver.New(s.issuer, mode, append([]authserver.Option{
			noteScopes(), authserver.OnEvent(s.note), authserver.Limit(1000, 1000, 100_000, nil),
		}, opts...)...)
		if err != nil {
			t.Fatal(err)
		}
		s.server, s.guard = server, server.Guard(at)
		return framework.New("notes", "1", framework.WithLogger(zap.NewNop()), framework.WithAuth(s.guard)).Add(
			framework.Tool("whoami", func(ctx context.Context, _ struct{}) (string, error) {
				return transport.PrincipalFrom(ctx).Subject, nil
			}),
			framework.Tool("write", func(context.Context, struct{}) (string, error) { return "written", nil }, framework.Scopes("notes:write")),
		)
	}, nethttp.Route("/", pages))
	return s
}

func (s *site) note(_ context.Context, e authserver.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

// happened counts events of a kind.
func (s *site) happened(kind authserver.EventKind) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// answer is what a request led to.
type answer struct {
	status int
	header http.Header
	body   string
	to     *url.URL // of Location; nil without one
}

func (a *answer) json(t testing.TB) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
	return v
}

// text is a member of a JSON answer.
func (a *answer) text(t testing.TB, name string) string {
	t.Helper()
	s, _ := a.json(t)[name].(string)
	return s
}

// browser is one with cookies. It follows no redirect by itself.
type browser struct {
	t *testing.T
	c *http.Client
	s *site
}

func (s *site) browser() *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return &browser{s.t, &http.Client{
		Jar: jar, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, s}
}

// do makes a request. headers are names and values.
func (b *browser) do(method, address string, form url.Values, headers ...string) *answer {
	b.t.Helper()
	var body io.Reader
	if form != nil {
		headers = append([]string{"Content-Type", "application/x-www-form-urlencoded"}, headers...)
		body = strings.NewReader(form.Encode())
	}
	return send(b.t, b.c, method, address, body, headers)
}

func send(t *testing.T, c *http.Client, method, address string, body io.Reader, headers []string) *answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	to, err := resp.Location()
	if err != nil && !errors.Is(err, http.ErrNoLocation) {
		t.Fatal(err)
	}
	return &answer{resp.StatusCode, resp.Header, string(text), to}
}

var (
	hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
	formAction  = regexp.MustCompile(`action="([^"]*)"`)
)

// fields are the hidden ones of a page.
func (a *answer) fields() url.Values {
	f := url.Values{}
	for _, m := range hiddenField.FindAllStringSubmatch(a.body, -1) {
		f.Set(m[1], html.UnescapeString(m[2]))
	}
	return f
}

// press sends the form of a page, with a button.
func (b *browser) press(page *answer, name, value string, headers ...string) *answer {
	b.t.Helper()
	action := formAction.FindStringSubmatch(page.body)
	if action == nil {
		b.t.Fatalf("no form in %d %s", page.status, page.body)
	}
	f := page.fields()
	f.Set(name, value)
	return b.do(http.MethodPost, b.s.origin()+action[1], f, append([]string{"Sec-Fetch-Site", "same-origin"}, headers...)...)
}

func (s *site) origin() string { return strings.TrimSuffix(s.resource, "/mcp") }

const (
	verifier = "the-verifier-of-these-tests-is-43-characters-long"
	callback = "http://127.0.0.1:7777/callback"
)

// ask is an authorization request of a client, with changes: pairs of name and value; the value "-"
// leaves the parameter out.
func (s *site) ask(client string, changes ...string) string {
	q := url.Values{
		"response_type": {"code"}, "client_id": {client}, "redirect_uri": {callback}, "state": {"the-state"},
		"code_challenge": {authserver.ChallengeOf(verifier)}, "code_challenge_method": {"S256"}, "resource": {s.resource}, "scope": {"notes:read notes:write"},
	}
	for i := 0; i < len(changes); i += 2 {
		if q.Set(changes[i], changes[i+1]); changes[i+1] == "-" {
			q.Del(changes[i])
		}
	}
	return s.issuer + "/authorize?" + q.Encode()
}

// login opens an authorization request, logs a user in, and returns the consent page.
func (b *browser) login(address, user string) *answer {
	b.t.Helper()
	page := b.do(http.MethodGet, address, nil)
	if page.status != http.StatusOK {
		b.t.Fatalf("%d %s", page.status, page.body)
	}
	if !strings.Contains(page.body, `/login"`) {
		return page
	}
	in := b.press(page, "name", user)
	if in.status != http.StatusSeeOther {
		b.t.Fatalf("the login of %s: %d %s", user, in.status, in.body)
	}
	return b.do(http.MethodGet, in.to.String(), nil)
}

// code goes through the pages, and returns a code.
func (b *browser) code(address, user string) string {
	b.t.Helper()
	a := b.press(b.login(address, user), "decision", "approve")
	if a.status != http.StatusSeeOther || a.to.Query().Get("code") == "" {
		b.t.Fatalf("no code: %d %v %s", a.status, a.to, a.body)
	}
	return a.to.Query().Get("code")
}

const plainClient = `{"client_name":"Tester","redirect_uris":["` + callback + `"],"token_endpoint_auth_method":"none"}`

// register registers a public client.
func (s *site) register(metadata string) string {
	s.t.Helper()
	a := s.post("/register", metadata)
	if a.status != http.StatusCreated {
		s.t.Fatalf("register: %d %s", a.status, a.body)
	}
	return a.text(s.t, "client_id")
}

// post sends JSON, or a form if the body has no brace.
func (s *site) post(path, body string, headers ...string) *answer {
	s.t.Helper()
	kind := "application/json"
	if !strings.HasPrefix(body, "{") {
		kind = "application/x-www-form-urlencoded"
	}
	return send(s.t, http.DefaultClient, http.MethodPost, s.issuer+path, strings.NewReader(body), append([]string{"Content-Type", kind}, headers...))
}

// encoded is a form of pairs; a later one replaces an earlier one, and "-" takes it out.
func encoded(pairs []string) string {
	f := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if f.Set(pairs[i], pairs[i+1]); pairs[i+1] == "-" {
			f.Del(pairs[i])
		}
	}
	return f.Encode()
}

// token makes a token request: pairs of name and value.
func (s *site) token(pairs ...string) *answer {
	s.t.Helper()
	return s.post("/token", encoded(pairs))
}

func (s *site) redeem(client, code string, changes ...string) *answer {
	s.t.Helper()
	return s.token(append([]string{
		"grant_type", "authorization_code", "client_id", client, "code", code, "code_verifier", verifier,
		"redirect_uri", callback, "resource", s.resource,
	}, changes...)...)
}

func (s *site) refresh(client, token string, changes ...string) *answer {
	s.t.Helper()
	return s.token(append([]string{"grant_type", "refresh_token", "client_id", client, "refresh_token", token, "resource", s.resource}, changes...)...)
}

// grant goes through the whole flow, and returns the access and the refresh token.
func (s *site) grant(client, user string) (access, refresh string) {
	s.t.Helper()
	a := s.redeem(client, s.browser().code(s.ask(client), user))
	if a.status != http.StatusOK {
		s.t.Fatalf("token: %d %s", a.status, a.body)
	}
	return a.text(s.t, "access_token"), a.text(s.t, "refresh_token")
}

// served is the body of an answer of a handler, without a network.
func served(t *testing.T, h http.Handler, path, form string) string {
	t.Helper()
	return direct(t, h, path, "application/x-www-form-urlencoded", form)
}

// register is the answer to a registration.
func register(t *testing.T, h http.Handler, metadata string) string {
	t.Helper()
	return direct(t, h, "/register", "application/json", metadata)
}

func direct(t testing.TB, h http.Handler, path, kind, body string) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Body.String()
}

// admits says whether the guard takes a token, and whose it is.
func (s *site) admits(token string) (*transport.Principal, bool) {
	s.t.Helper()
	p, err := s.guard.Authenticate(s.t.Context(), http.Header{"Authorization": {"Bearer " + token}})
	if refused, ok := errors.AsType[*transport.AuthError](err); err != nil && (!ok || refused.Status != http.StatusUnauthorized) {
		s.t.Fatalf("the guard failed: %v", err)
	}
	return p, err == nil
}
