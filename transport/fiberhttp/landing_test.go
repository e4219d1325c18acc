package fiberhttp_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// aBrowser is the Accept of today's browsers.
const aBrowser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"

type login struct{}

func (login) Authenticate(context.Context, http.Header) (*transport.Principal, error) {
	return nil, &transport.AuthError{Status: http.StatusUnauthorized, Challenge: "Bearer", Err: errors.New("no token")}
}

// ServeMetadata is what middleware/auth has, in short.
func (login) ServeMetadata(string, string) (int, http.Header, []byte) {
	return http.StatusOK, http.Header{"Content-Type": {"application/json"}}, []byte(`{"authorization_servers":["https://login.example/realm"]}`)
}

func greeting(t *testing.T, opts ...framework.AppOption) *framework.Server {
	t.Helper()
	greet := framework.Tool("secret_tool", func(context.Context, struct{}) (string, error) { return "hello", nil })
	server, err := framework.New("greeter", "9.9.9", append(opts, framework.WithInstructions("private words"))...).Add(greet).Build()
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// carriers serve host, each as programs do; they return the address.
var carriers = map[string]func(t *testing.T, host transport.Host, text string, off bool, hosts ...string) string{
	"fiberhttp.New": func(t *testing.T, host transport.Host, text string, off bool, hosts ...string) string {
		opts := []fiberhttp.Option{fiberhttp.Landing(text), fiberhttp.AllowedHosts(hosts...)}
		if off {
			opts = append(opts, fiberhttp.NoLanding())
		}
		return runs(t, host, func(told func(string)) transport.Transport {
			return fiberhttp.New("127.0.0.1:0", append(opts, fiberhttp.OnEndpoint(told))...)
		})
	},
	"nethttp.New": func(t *testing.T, host transport.Host, text string, off bool, hosts ...string) string {
		opts := []nethttp.Option{nethttp.Landing(text), nethttp.AllowedHosts(hosts...)}
		if off {
			opts = append(opts, nethttp.NoLanding())
		}
		return runs(t, host, func(told func(string)) transport.Transport {
			return nethttp.New("127.0.0.1:0", append(opts, nethttp.OnEndpoint(told))...)
		})
	},
	"fiberhttp.Mount": func(t *testing.T, host transport.Host, text string, off bool, hosts ...string) string {
		app := fiber.New(fiber.Config{DisableStartupMessage: true})
		opts := []fiberhttp.Option{fiberhttp.Landing(text), fiberhttp.AllowedHosts(hosts...)}
		if off {
			opts = append(opts, fiberhttp.NoLanding())
		}
		fiberhttp.Mount(app.Group("/mcp"), host, opts...)
		l := listener(t)
		go func() { _ = app.Listener(l) }()
		t.Cleanup(func() { _ = app.Shutdown() })
		return "http://" + l.Addr().String() + "/mcp"
	},
}

func listener(t *testing.T) net.Listener {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// runs serves until the test ends.
func runs(t *testing.T, host transport.Host, carrier func(told func(string)) transport.Transport) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	endpoint, done := make(chan string, 1), make(chan error, 1)
	go func() { done <- carrier(func(at string) { endpoint <- at }).Serve(ctx, host) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return <-endpoint
}

type page struct {
	status int
	header http.Header
	body   string
}

func fetch(t *testing.T, method, address, accept, host string) page {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if accept != "" {
		request.Header.Set("Accept", accept)
	}
	if host != "" {
		request.Host = host
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return page{response.StatusCode, response.Header, string(body)}
}

// TestLanding checks that a browser gets a page, and that MCP clients see no difference.
func TestLanding(t *testing.T) {
	t.Parallel()
	for name, serve := range carriers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint := serve(t, greeting(t, framework.WithTitle("Greetings <b>")), "Says hello & more.", false, "greet.example", "mcp.tea.example")
			places := []string{endpoint}
			if !strings.HasSuffix(name, "Mount") {
				places = append(places, strings.TrimSuffix(endpoint, "mcp"))
			}
			for _, place := range places {
				got := fetch(t, http.MethodGet, place, aBrowser, "")
				if got.status != 200 || !strings.HasPrefix(got.header.Get("Content-Type"), "text/html") || !strings.Contains(got.header.Get("Vary"), "Accept") {
					t.Fatalf("%s: %d %v", place, got.status, got.header)
				}
				for _, want := range []string{"Greetings &lt;b&gt;", "Says hello &amp; more.", endpoint, "claude mcp add --transport http local " + endpoint} {
					if !strings.Contains(got.body, want) {
						t.Errorf("%s lacks %q", place, want)
					}
				}
				for _, private := range []string{"secret_tool", "9.9.9", "private words", "greeter", "2026-07-28", "{title}", "It needs a login"} {
					if strings.Contains(got.body, private) {
						t.Errorf("%s tells %q", place, private)
					}
				}
				if len(got.body) > 8<<10 {
					t.Errorf("%d bytes, at most 8 KB", len(got.body))
				}
				styled(t, got)
				if head := fetch(t, http.MethodHead, place, aBrowser, ""); head.status != 200 || head.body != "" {
					t.Errorf("HEAD %s: %d, %d bytes", place, head.status, len(head.body))
				}
				if named := fetch(t, http.MethodGet, place, aBrowser, "mcp.tea.example"); !strings.Contains(named.body, "http tea https://mcp.tea.example/mcp") {
					t.Errorf("under a name of its own: %s", named.body)
				}
				if refused := fetch(t, http.MethodGet, place, aBrowser, "evil.example"); refused.status != http.StatusForbidden {
					t.Errorf("under another name: %d", refused.status)
				}
			}
			for _, accept := range []string{"", "*/*", "application/json", "text/event-stream", "application/json, text/event-stream", "text/html, text/event-stream", "text/html;q=0, */*", "text/html;q=0.5, application/json"} {
				for _, place := range places {
					if got := fetch(t, http.MethodGet, place, accept, ""); strings.Contains(got.body, "<html") {
						t.Errorf("%s with Accept %q gets a page", place, accept)
					}
				}
			}
		})
	}
}

// styled checks that the policy allows the style of the page, and no more.
func styled(t *testing.T, got page) {
	t.Helper()
	_, rest, _ := strings.Cut(got.body, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	policy := got.header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, base64.StdEncoding.EncodeToString(sum[:])) || strings.Contains(policy, "unsafe") {
		t.Errorf("policy %q", policy)
	}
	for _, part := range []string{"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy has no %s: %q", part, policy)
		}
	}
	if got.header.Get("X-Content-Type-Options") != "nosniff" || got.header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("%v", got.header)
	}
	if strings.Contains(got.body, "<script") || strings.Contains(got.body, "style=") {
		t.Error("the page has scripts, or styles that the policy forbids")
	}
}

func TestNoLanding(t *testing.T) {
	t.Parallel()
	for name, serve := range carriers {
		endpoint := serve(t, greeting(t), "", true)
		if got := fetch(t, http.MethodGet, endpoint, aBrowser, ""); strings.Contains(got.body, "<html") {
			t.Errorf("%s: there is a page", name)
		}
	}
}

// TestLandingBehindLogin: the page says that a login is needed, and where; without a title it has the host.
func TestLandingBehindLogin(t *testing.T) {
	t.Parallel()
	for name, serve := range carriers {
		endpoint := serve(t, greeting(t, framework.WithAuth(login{})), "", false)
		got := fetch(t, http.MethodGet, endpoint, aBrowser, "")
		if got.status != 200 || !strings.Contains(got.body, "It needs a login. Your client asks you for it, at login.example, when it connects.") || !strings.Contains(got.body, "<h1>127.0.0.1:") {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}
