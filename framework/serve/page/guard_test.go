package page_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/serve/page"
)

// TestKeyIsGoodOnce: the second use of an address gives no secret.
func TestKeyIsGoodOnce(t *testing.T) {
	t.Parallel()
	b, address := served(t, page.Options{Host: host(t)})
	path := strings.TrimPrefix(address, b.base)
	(&browser{t: t, base: b.base}).do(http.MethodHead, path, "", nil) // does not use the key
	b.open(address)
	again := (&browser{t: t, base: b.base}).do(http.MethodGet, path, "", nil)
	if body := again.body; again.status != http.StatusForbidden || strings.Contains(body, b.secret) || len(again.cookies) > 0 {
		t.Errorf("the second use: %d, cookies %v", again.status, again.cookies)
	}
	for _, wrong := range []string{"/", "/?k=", "/?k=" + strings.Repeat("A", 26), "/?k=" + strings.Repeat("x", 4000)} {
		response := (&browser{t: t, base: b.base}).do(http.MethodGet, wrong, "", nil)
		if body := response.body; strings.Contains(body, b.secret) || len(response.cookies) > 0 {
			t.Errorf("%.20s gave a secret", wrong)
		}
	}
	var other struct{ Address string }
	b.ask(http.MethodPost, "/api/key", "{}", &other)
	(&browser{t: t, base: b.base}).open(other.Address)
}

// TestStrangersAreRefused: each request lacks one thing that the page's own script has.
func TestStrangersAreRefused(t *testing.T) {
	t.Parallel()
	b := opened(t, page.Options{Host: host(t)})
	port := b.base[strings.LastIndexByte(b.base, ':'):]
	for name, c := range map[string]struct {
		method, path string
		header       map[string]string
		want         int
	}{
		"its own script":            {"GET", "/api/server", map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": b.base}, 200},
		"no cookie":                 {"GET", "/api/server", map[string]string{"Cookie": ""}, 403},
		"no secret":                 {"GET", "/api/server", map[string]string{"Kagami-Page": ""}, 403},
		"a cookie of another port":  {"GET", "/api/server", map[string]string{"Cookie": strings.Replace(b.cookie, "kagami_page_", "kagami_page_1", 1)}, 403},
		"the secrets exchanged":     {"GET", "/api/server", map[string]string{"Kagami-Page": b.cookie[strings.IndexByte(b.cookie, '=')+1:]}, 403},
		"a rebound name":            {"GET", "/api/server", map[string]string{"Host": "evil.example" + port}, 421},
		"a rebound name, the page":  {"GET", "/", map[string]string{"Host": "evil.example" + port}, 421},
		"a host without port":       {"GET", "/api/server", map[string]string{"Host": "localhost"}, 421},
		"localhost":                 {"GET", "/api/server", map[string]string{"Host": "localhost" + port}, 200},
		"another loopback address":  {"GET", "/api/server", map[string]string{"Host": "127.0.0.2" + port}, 200},
		"another machine":           {"GET", "/api/server", map[string]string{"Host": "192.0.2.1" + port}, 421},
		"another origin":            {"GET", "/api/server", map[string]string{"Origin": "https://evil.example"}, 403},
		"another port":              {"GET", "/api/server", map[string]string{"Origin": "http://127.0.0.1:1"}, 403},
		"origin null":               {"POST", "/api/calls", map[string]string{"Origin": "null"}, 403},
		"another site":              {"GET", "/api/server", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		"another site of this host": {"GET", "/api/server", map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		"a frame":                   {"GET", "/", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, 403},
		"a link in another page":    {"GET", "/", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200},
		"a link to the interface":   {"GET", "/api/server", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 403},
		"a form":                    {"POST", "/api/calls", map[string]string{"Kagami-Page": "", "Origin": "https://evil.example", "Content-Type": "text/plain"}, 403},
		"a preflight":               {"OPTIONS", "/api/calls", map[string]string{"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}, 403},
		"a preflight of its own":    {"OPTIONS", "/api/calls", nil, 405},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response := b.do(c.method, c.path, "", c.header)
			if response.status != c.want {
				t.Errorf("%d, want %d", response.status, c.want)
			}
			for name := range response.header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("there is a CORS header: %s", name)
				}
			}
			if policy := response.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'self'") || strings.Contains(policy, "unsafe") {
				t.Errorf("policy %q", policy)
			}
			protected(t, response.header)
			if response.status == http.StatusOK && response.header.Get("Cache-Control") != "no-store" {
				t.Errorf("Cache-Control: %q", response.header.Get("Cache-Control"))
			}
		})
	}
}

// protected checks the header of a response. Other sites must not show the response in a frame,
// learn the address with the key, or have the browser read it as another type. A result of a tool
// must not become a script.
func protected(t *testing.T, header http.Header) {
	t.Helper()
	for name, want := range map[string]string{
		"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
	} {
		if got := header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	policy := header.Get("Content-Security-Policy")
	for _, part := range []string{"object-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy has no %s: %q", part, policy)
		}
	}
}

// TestAddressOfOthers: the page is not served where other machines can reach it.
func TestAddressOfOthers(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.com:80"} {
		p, err := page.New(page.Options{Host: host(t)})
		if err != nil {
			t.Fatal(err)
		}
		err = p.Serve(t.Context(), addr, func(string) { t.Errorf("%s is served", addr) })
		if err == nil || !strings.Contains(err.Error(), "others can reach") {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []page.Options{{}, {Host: host(t), URL: "http://127.0.0.1/mcp"}} {
		if _, err := page.New(o); err == nil {
			t.Errorf("New(%+v) is no error", o)
		}
	}
}

// TestHandler: in a program's own mux, under a prefix, the login of the program stands for the key.
func TestHandler(t *testing.T) {
	t.Parallel()
	p, err := page.New(page.Options{Host: host(t)})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/look/", http.StripPrefix("/look", p.Handler()))
	server := httptest.NewServer(mux)
	t.Cleanup(func() { server.Close(); _ = p.Close() })
	b := &browser{t: t, base: server.URL}
	text := b.do(http.MethodGet, "/look/", "", nil).body
	_, rest, _ := strings.Cut(text, `data-secret="`)
	b.secret, _, _ = strings.Cut(rest, `"`)
	if status := b.do(http.MethodGet, "/look/api/server", "", map[string]string{"Kagami-Page": ""}).status; status != http.StatusForbidden {
		t.Errorf("without the secret: %d", status)
	}
	var about struct{ Name string }
	if b.ask(http.MethodGet, "/look/api/server", "", &about); about.Name != "calc" {
		t.Errorf("the server is %+v", about)
	}
	if a := b.do(http.MethodPost, "/look/api/key", "{}", nil); a.status != http.StatusNotFound || !strings.Contains(a.body, "log in there") {
		t.Errorf("a key: %d %s", a.status, a.body)
	}
	_, rest, _ = strings.Cut(text, `src="`)
	script, _, _ := strings.Cut(rest, `"`)
	if response := b.do(http.MethodGet, "/look/"+script, "", nil); response.status != 200 || !strings.HasPrefix(response.header.Get("Content-Type"), "text/javascript") {
		t.Errorf("%s: %d %s", script, response.status, response.header.Get("Content-Type"))
	}
}

// TestAnotherPort: a server on another port gets the cookie, since cookies know no ports, and can do
// nothing with it.
func TestAnotherPort(t *testing.T) {
	t.Parallel()
	b := opened(t, page.Options{Host: host(t)})
	u, err := url.Parse(b.base)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(u.Host)
	if !strings.HasPrefix(b.cookie, fmt.Sprintf("kagami_page_%s=", port)) {
		t.Errorf("the cookie %s does not name the port %s", b.cookie, port)
	}
	if status := b.do(http.MethodPost, "/api/calls", `{"method":"tools/call","name":"add"}`, map[string]string{"Kagami-Page": ""}).status; status != http.StatusForbidden {
		t.Errorf("the cookie alone: %d", status)
	}
}
