package authserver_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/middleware/authserver"
)

// A registration is answered with what is kept of it, or with what is wrong.
func TestRegister(t *testing.T) {
	t.Parallel()
	s := open(t, nil, authserver.Admission(authserver.Policy{Schemes: []string{"cursor"}}))
	many := `"` + strings.Repeat(`https://a.example/","`, 10) + `https://a.example/"`
	for body, want := range map[string]string{
		`{"redirect_uris":["https://app.example/cb"]}`:                                                        "",
		`{"redirect_uris":["http://localhost/cb","http://127.0.0.1:3000/x","http://[::1]/y"]}`:                "",
		`{"redirect_uris":["https://app.example/cb?issue=1&states=code"]}`:                                    "",
		`{"redirect_uris":["cursor://anysphere.cursor/cb"]}`:                                                  "",
		`{"redirect_uris":["` + callback + `"],"grant_types":["authorization_code","refresh_token","weird"]}`: "",
		`{"redirect_uris":["` + callback + `"],"token_endpoint_auth_method":"client_secret_basic"}`:           "",
		`{}`:                               "invalid_redirect_uri",
		`{"redirect_uris":[]}`:             "invalid_redirect_uri",
		`{"redirect_uris":[` + many + `]}`: "invalid_redirect_uri",
		`{"redirect_uris":["http://app.example/cb"]}`:                                                     "invalid_redirect_uri",
		`{"redirect_uris":["https://app.example:99999/cb"]}`:                                              "invalid_redirect_uri",
		`{"redirect_uris":["http://10.0.0.1/cb"]}`:                                                        "invalid_redirect_uri",
		`{"redirect_uris":["vscode://x/cb"]}`:                                                             "invalid_redirect_uri",
		`{"redirect_uris":["javascript:alert(1)"]}`:                                                       "invalid_redirect_uri",
		`{"redirect_uris":["data:text/html,x"]}`:                                                          "invalid_redirect_uri",
		`{"redirect_uris":["https://u:p@app.example/cb"]}`:                                                "invalid_redirect_uri",
		`{"redirect_uris":["https://app.example/cb#f"]}`:                                                  "invalid_redirect_uri",
		`{"redirect_uris":["https://app.example/cb?iss=https://evil.example"]}`:                           "invalid_redirect_uri",
		`{"redirect_uris":["` + callback + `?a=b;st%61te"]}`:                                              "invalid_redirect_uri",
		`{"redirect_uris":["https://app.example/` + strings.Repeat("a", 2100) + `"]}`:                     "invalid_redirect_uri",
		`{"redirect_uris":["` + callback + `"],"application_type":"web"}`:                                 "invalid_redirect_uri",
		`{"redirect_uris":["` + callback + `"],"application_type":"toaster"}`:                             "invalid_client_metadata",
		`{"redirect_uris":["` + callback + `"],"token_endpoint_auth_method":"tls_client_auth"}`:           "invalid_client_metadata",
		`{"redirect_uris":["` + callback + `"],"token_endpoint_auth_method":"private_key_jwt"}`:           "invalid_client_metadata",
		`{"redirect_uris":["` + callback + `"],"token_endpoint_auth_method":"private_key_jwt","jwks":{}}`: "invalid_client_metadata",
		`{"redirect_uris":["` + callback + `"],"grant_types":["client_credentials"]}`:                     "invalid_client_metadata",
		`{"redirect_uris":["` + callback + `"],"response_types":["token"]}`:                               "invalid_client_metadata",
		`{"redirect_uris":"` + callback + `"}`:                                                            "invalid_client_metadata",
		`{`:                                                                                               "invalid_client_metadata",
		`{"client_name":"` + strings.Repeat("x", 20_000) + `"}`:                                           "invalid_client_metadata",
	} {
		a := s.post("/register", body)
		if want != "" {
			if a.status != http.StatusBadRequest || a.text(t, "error") != want {
				t.Errorf("%.90s: %d %s, want %s", body, a.status, a.body, want)
			}
			continue
		}
		v := a.json(t)
		_, secret := v["client_secret"]
		if a.status != http.StatusCreated || v["client_id"] == "" || v["client_id_issued_at"] == 0.0 || a.header.Get("Cache-Control") != "no-store" ||
			secret != strings.Contains(body, "basic") || fmt.Sprint(v["grant_types"]) != "[authorization_code refresh_token]" {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
}

func TestRegister_Policy(t *testing.T) {
	t.Parallel()
	closed := open(t, nil, authserver.Admission(authserver.Policy{NoRegistration: true}))
	if a := closed.post("/register", plainClient); a.status != http.StatusNotFound && a.status != http.StatusMethodNotAllowed {
		t.Errorf("%d", a.status)
	}
	if v := closed.browser().do(http.MethodGet, closed.issuer+"/.well-known/oauth-authorization-server", nil).json(t); v["registration_endpoint"] != nil {
		t.Errorf("%v", v)
	}
	s := open(t, nil, authserver.Admission(authserver.Policy{
		InitialToken: "let-me-in", Domains: []string{"example.com", "*.example.org"},
		Admit: func(_ context.Context, c *authserver.Client) error {
			if c.Name == "Bad" {
				return errors.New("geheim")
			}
			return nil
		},
	}))
	in := []string{"Authorization", "Bearer let-me-in"}
	for body, status := range map[string]int{
		`{"redirect_uris":["https://example.com/cb"]}`:                     201,
		`{"redirect_uris":["https://a.example.org/cb"]}`:                   201,
		`{"redirect_uris":["http://localhost/cb"]}`:                        201,
		`{"redirect_uris":["https://example.org/cb"]}`:                     400,
		`{"redirect_uris":["https://evilexample.org/cb"]}`:                 400,
		`{"redirect_uris":["https://a.example.com/cb"]}`:                   400,
		`{"redirect_uris":["https://example.com/cb"],"client_name":"Bad"}`: 400,
	} {
		if a := s.post("/register", body, in...); a.status != status || strings.Contains(a.body, "geheim") {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	if a := s.post("/register", plainClient, "Authorization", "bearer let-me-in"); a.status != http.StatusCreated {
		t.Errorf("the scheme in lower case: %d %s", a.status, a.body)
	}
	for _, wrong := range [][]string{nil, {"Authorization", "Bearer wrong"}, {"Authorization", "let-me-in"}, {"Authorization", "Basic let-me-in"}, {"Authorization", "Bearer"}} {
		if a := s.post("/register", plainClient, wrong...); a.status != http.StatusUnauthorized {
			t.Errorf("%v: %d", wrong, a.status)
		}
	}
}

// Clients that were not used make room, and never one with a grant.
func TestRegister_MakesRoom(t *testing.T) {
	t.Parallel()
	s := open(t, nil, authserver.Admission(authserver.Policy{MaxClients: 3}))
	granted := s.register(plainClient)
	_, refresh := s.grant(granted, "ann")
	unused, visited := s.register(plainClient), s.register(plainClient)
	s.browser().login(s.ask(visited), "ann")
	for range 5 {
		s.register(plainClient)
	}
	b := s.browser()
	if a := s.refresh(granted, refresh); a.status != http.StatusOK {
		t.Errorf("the client with a grant is gone: %s", a.body)
	}
	if a := b.do(http.MethodGet, s.ask(unused), nil); a.status != http.StatusBadRequest {
		t.Errorf("the client that was unused longest is still there: %d", a.status)
	}
	all := open(t, nil, authserver.Admission(authserver.Policy{MaxClients: 1}))
	all.grant(all.register(plainClient), "ann")
	if a := all.post("/register", plainClient); a.status != http.StatusServiceUnavailable {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// Of a flood the newest remain; the store does not grow beyond the bound.
func TestRegister_TenThousand(t *testing.T) {
	t.Parallel()
	s := open(t, nil, authserver.Admission(authserver.Policy{MaxClients: 100}), authserver.Limit(1_000_000, 1000, 1000, nil))
	h := s.server.Handler()
	first, last := "", ""
	n := 10_000
	if testing.Short() || raceDetector {
		n = 500
	}
	for i := range n {
		a := answer{body: register(t, h, plainClient)}
		if last = a.text(t, "client_id"); i == 0 {
			first = last
		}
	}
	b := s.browser()
	if a := b.do(http.MethodGet, s.ask(first), nil); a.status != http.StatusBadRequest {
		t.Errorf("the first is still there: %d", a.status)
	}
	if a := b.do(http.MethodGet, s.ask(last), nil); a.status != http.StatusOK {
		t.Errorf("the last is not there: %d", a.status)
	}
}

func TestRegister_Limited(t *testing.T) {
	t.Parallel()
	s := open(t, nil, authserver.Limit(2, 0, 0, func(r *http.Request) string { return r.Header.Get("X-Real") }))
	status := []int{}
	for _, who := range []string{"a", "a", "a", "b"} {
		a := s.post("/register", plainClient, "X-Real", who)
		status = append(status, a.status)
		if a.status == 429 && a.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	if fmt.Sprint(status) != "[201 201 429 201]" {
		t.Errorf("%v", status)
	}
}

// web is a Fetcher of documents.
type web struct {
	mu      sync.Mutex
	pages   map[string]string
	fetched int
}

func (w *web) Fetch(_ context.Context, url string) ([]byte, time.Duration, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fetched++
	text, ok := w.pages[url]
	if !ok {
		return nil, 0, errors.New("404")
	}
	return []byte(text), time.Hour, nil
}

// A client whose id is a URL is what the document there says.
func TestDocument(t *testing.T) {
	t.Parallel()
	const at = "https://client.example/meta.json"
	document := func(id, more string) string {
		return `{"client_id":"` + id + `","client_name":"Doc","redirect_uris":["` + callback + `"]` + more + `}`
	}
	w := &web{pages: map[string]string{
		at:                              `{"client_id":"` + at + `","client_name":"Doc","redirect_uris":["cursor://x/cb","` + callback + `"]}`,
		"https://client.example/other":  document(at, ""),
		"https://client.example/secret": document("https://client.example/secret", `,"client_secret":"x"`),
		"https://client.example/basic":  document("https://client.example/basic", `,"token_endpoint_auth_method":"client_secret_basic"`),
		"https://client.example/http":   `{"client_id":"https://client.example/http","redirect_uris":["http://evil.example/"]}`,
		"https://client.example/none":   `{"client_id":"https://client.example/none"}`,
		"https://client.example/text":   `hello`,
		"https://client.example/big":    document("https://client.example/big", `,"x":"`+strings.Repeat("x", 6000)+`"`),
		"https://evil.example/meta":     document("https://evil.example/meta", ""),
	}}
	s := open(t, nil, authserver.Documents(w), authserver.Admission(authserver.Policy{Domains: []string{"client.example"}}),
		authserver.Limit(100, 100, 1000, func(r *http.Request) string { return r.Header.Get("X-From") }))
	b := s.browser()
	page := b.login(s.ask(at), "ann")
	if !strings.Contains(page.body, "<strong>Doc</strong>") || !strings.Contains(page.body, "<strong>client.example</strong>") || !strings.Contains(page.body, "your own machine") {
		t.Errorf("%s", page.body)
	}
	if a := s.redeem(at, b.press(page, "decision", "approve").to.Query().Get("code")); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}
	if w.fetched != 1 {
		t.Errorf("fetched %d times", w.fetched)
	}
	for _, id := range []string{"other", "secret", "basic", "http", "none", "text", "big", "absent", "a/../meta.json", "meta.json?x=1", "meta.json#f"} {
		for range 2 {
			if a := b.do(http.MethodGet, s.ask("https://client.example/"+id), nil); a.status != http.StatusBadRequest || a.to != nil {
				t.Errorf("%s: %d", id, a.status)
			}
		}
	}
	if w.fetched != 9 { // each of the eight that look right once, although asked for twice
		t.Errorf("fetched %d times", w.fetched)
	}
	for _, id := range []string{"https://evil.example/meta", "https://client.example", "https://client.example/", "https://u@client.example/meta.json", "https://client.example:8443/meta.json", "http://client.example/meta.json"} {
		if a := b.do(http.MethodGet, s.ask(id), nil); a.status != http.StatusBadRequest {
			t.Errorf("%s: %d", id, a.status)
		}
	}
	if w.fetched != 9 {
		t.Errorf("fetched %d times", w.fetched)
	}
	for i := range 30 {
		b.do(http.MethodGet, s.ask(fmt.Sprintf("https://client.example/flood%d", i)), nil)
	}
	if w.fetched > 20 {
		t.Errorf("%d fetches in a minute for one address", w.fetched)
	}
	before := w.fetched
	if a := b.do(http.MethodGet, s.ask("https://client.example/late"), nil, "X-From", "another"); a.status != http.StatusBadRequest || w.fetched != before+1 {
		t.Errorf("a client at another address: %d, %d fetches", a.status, w.fetched-before)
	}
	for i := range 200 {
		b.do(http.MethodGet, s.ask(fmt.Sprintf("https://client.example/spread%d", i)), nil, "X-From", fmt.Sprint(i))
	}
	if w.fetched > 100 {
		t.Errorf("%d fetches in a minute for all", w.fetched)
	}
}

// The fetcher goes to public addresses only, whatever a name resolves to.
func TestDocument_Fetcher(t *testing.T) {
	t.Parallel()
	for _, at := range []string{
		"127.0.0.1:443", "[::1]:443", "10.0.0.1:443", "172.16.0.1:443", "192.168.1.1:443", "169.254.169.254:443", "[fe80::1]:443", "[fd00::1]:443", "0.0.0.0:443",
		"0.1.2.3:443", "[::]:443", "224.0.0.1:443", "255.255.255.255:443", "100.64.0.1:443", "[::ffff:100.64.0.1]:443", "[::ffff:127.0.0.1]:443", "[::ffff:10.0.0.1]:443", "[64:ff9b::7f00:1]:443",
		"192.0.0.1:443", "198.18.0.1:443", "240.0.0.1:443", "[2002:7f00:1::]:443", "93.184.216.34:80", "93.184.216.34:8443", "[2606:2800:220:1::1]:80",
	} {
		if authserver.Public(netip.MustParseAddrPort(at).String()) == nil {
			t.Errorf("%s is taken for public", at)
		}
	}
	for _, at := range []string{"93.184.216.34:443", "[2606:2800:220:1::1]:443"} {
		if err := authserver.Public(at); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
	s := open(t, nil) // with the fetcher that a server has by default
	if a := s.browser().do(http.MethodGet, s.ask("https://127.0.0.1/meta.json"), nil); a.status != http.StatusBadRequest {
		t.Errorf("%d", a.status)
	}
	for control, want := range map[string]time.Duration{"": 0, "max-age=60": time.Minute, "public, Max-Age=\"7\"": 7 * time.Second, "max-age=1, no-store": 0, "max-age=99999999999": 24 * time.Hour, "max-age=x": 0, "max-age=9999999": 24 * time.Hour} {
		if got := authserver.FreshFor(control); got != want {
			t.Errorf("%q: %v", control, got)
		}
	}
}

// A host with escapes is refused: pages would show its decoded letters, which can look like the name of another host.
func TestRegister_EscapedHost(t *testing.T) {
	t.Parallel()
	const host = "ex%D0%B0mple.com" // with a Cyrillic letter
	document := "https://" + host + "/meta.json"
	w := &web{pages: map[string]string{document: `{"client_id":"` + document + `","redirect_uris":["` + callback + `"]}`}}
	s := open(t, nil, authserver.Documents(w))
	if a := s.post("/register", `{"redirect_uris":["https://`+host+`/cb"]}`); a.status != http.StatusBadRequest || a.text(t, "error") != "invalid_redirect_uri" {
		t.Errorf("a redirect URI: %d %s", a.status, a.body)
	}
	if a := s.browser().do(http.MethodGet, s.ask(document), nil); a.status != http.StatusBadRequest || w.fetched != 0 {
		t.Errorf("a document: %d, %d fetches", a.status, w.fetched)
	}
}

// A client that Admit refuses is refused when its document is read again, also if it was admitted before. While the
// document cannot be read, the old one counts.
func TestDocument_RefusedLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const at = "https://client.example/meta.json"
		document := []byte(`{"client_id":"` + at + `","redirect_uris":["` + callback + `"]}`)
		host := &keyHost{}
		var refused atomic.Bool
		as, err := authserver.New("https://as.example", authserver.Own(noUsers{}), authserver.Documents(host), authserver.Resource("https://r.example"),
			authserver.Admission(authserver.Policy{Admit: func(context.Context, *authserver.Client) error {
				if refused.Load() {
					return errors.New("not any more")
				}
				return nil
			}}))
		if err != nil {
			t.Fatal(err)
		}
		h := as.Handler()
		for _, step := range []struct {
			name     string
			document []byte
			refused  bool
			want     string
		}{{"at first", document, false, "invalid_grant"}, {"away", nil, false, "invalid_grant"}, {"refused", document, true, "invalid_client"}} {
			host.serves(step.document)
			refused.Store(step.refused)
			got := served(t, h, "/token", encoded([]string{"grant_type", "refresh_token", "client_id", at, "refresh_token", "x"}))
			if !strings.Contains(got, step.want) {
				t.Errorf("%s: %s", step.name, got)
			}
			time.Sleep(2 * time.Minute)
		}
	})
}

// A client that refreshes tokens is in use. It can begin another login after its grant has ended.
func TestRegister_InUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &site{t: t, issuer: "http://127.0.0.1:1", resource: "http://127.0.0.1:1/mcp"}
		as, err := authserver.New(s.issuer, authserver.Own(authserver.DevLogin(ann())), noteScopes(), authserver.Resource(s.resource),
			authserver.Lives(authserver.Lifetimes{Grant: 4 * time.Hour, Client: 4 * time.Hour}))
		if err != nil {
			t.Fatal(err)
		}
		h := as.Handler()
		id := (&answer{body: register(t, h, plainClient)}).text(t, "client_id")
		b := s.browser()
		b.c.Transport = handled(func(r *http.Request) *http.Response {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			answer := w.Result()
			answer.Request = r
			return answer
		})
		token := &answer{body: served(t, h, "/token", encoded([]string{
			"grant_type", "authorization_code", "client_id", id, "code", b.code(s.ask(id), "ann"), "code_verifier", verifier, "redirect_uri", callback,
		}))}
		for range 3 {
			time.Sleep(time.Hour)
			token = &answer{body: served(t, h, "/token", encoded([]string{"grant_type", "refresh_token", "client_id", id, "refresh_token", token.text(t, "refresh_token")}))}
		}
		time.Sleep(90 * time.Minute)
		if a := b.do(http.MethodGet, s.ask(id), nil); a.status != http.StatusOK {
			t.Errorf("another login: %d %s", a.status, a.body)
		}
		time.Sleep(4*time.Hour + time.Minute)
		if a := b.do(http.MethodGet, s.ask(id), nil); a.status != http.StatusBadRequest {
			t.Errorf("a client that is not used: %d", a.status)
		}
	})
}

// A server that has just started knows no document. While it cannot fetch one, the client keeps its tokens.
func TestDocument_AwayAfterARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const at = "https://client.example/meta.json"
		host := &keyHost{}
		as, err := authserver.New("https://as.example", authserver.Own(noUsers{}), authserver.Documents(host), authserver.Resource("https://r.example"))
		if err != nil {
			t.Fatal(err)
		}
		h := as.Handler()
		for _, step := range []struct{ name, document, want string }{
			{"away", "", "temporarily_unavailable"},
			{"invalid", "hello", "invalid_client"},
			{"away again", "", "temporarily_unavailable"},
			{"back", `{"client_id":"` + at + `","redirect_uris":["` + callback + `"]}`, "invalid_grant"},
			{"away later", "", "invalid_grant"},
		} {
			host.serves(nil)
			if step.document != "" {
				host.serves([]byte(step.document))
			}
			for range 2 {
				got := served(t, h, "/token", encoded([]string{"grant_type", "refresh_token", "client_id", at, "refresh_token", "x"}))
				if !strings.Contains(got, step.want) {
					t.Errorf("%s: %s", step.name, got)
				}
			}
			time.Sleep(2 * time.Minute)
		}
	})
}

// A client at an address that must not be asked does not exist, now and later.
func TestDocument_AtAPrivateAddress(t *testing.T) {
	t.Parallel()
	as, err := authserver.New("https://as.example", authserver.Own(noUsers{}), authserver.Resource("https://r.example"))
	if err != nil {
		t.Fatal(err)
	}
	got := served(t, as.Handler(), "/token", encoded([]string{"grant_type", "refresh_token", "client_id", "https://10.0.0.1/meta.json", "refresh_token", "x"}))
	if !strings.Contains(got, "invalid_client") {
		t.Error(got)
	}
}
