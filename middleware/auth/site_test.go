package auth_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// resource is what the server is called in these tests.
const resource = "https://api.example.com/mcp"

const metadataURL = "https://api.example.com/.well-known/oauth-protected-resource/mcp"

// site is a server behind HTTP.
type site struct {
	url string
	web *http.Client
}

// carriers are both that speak HTTP.
func carriers() map[string]func(l net.Listener) transport.Transport {
	return map[string]func(l net.Listener) transport.Transport{
		"fiberhttp": func(l net.Listener) transport.Transport {
			return fiberhttp.New("", fiberhttp.Listener(l), fiberhttp.Grace(time.Millisecond))
		},
		"nethttp": func(l net.Listener) transport.Transport {
			return nethttp.New("", nethttp.Listener(l), nethttp.Grace(time.Millisecond))
		},
	}
}

// overHTTP runs body against a server of each carrier, which has a tool that says who
// calls.
func overHTTP(t *testing.T, a transport.Authenticator, body func(t *testing.T, s *site)) {
	t.Helper()
	onApp(t, newApp(a), body)
}

func onApp(t *testing.T, app *framework.App, body func(t *testing.T, s *site)) {
	t.Helper()
	for name, on := range carriers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body(t, newSite(t, app, on))
		})
	}
}

func newApp(a transport.Authenticator) *framework.App {
	whoami := framework.Tool("whoami", func(ctx context.Context, _ struct{}) (string, error) {
		p := framework.Caller(ctx).Principal
		return fmt.Sprintf("%s of %s: %s", p.Subject, p.Issuer, strings.Join(p.Scopes, " ")), nil
	}, framework.Describe("says who calls"))
	return framework.New("auth", "1", framework.WithAuth(a), framework.WithLogger(zap.NewNop())).Add(whoami)
}

func newSite(t *testing.T, app *framework.App, on func(net.Listener) transport.Transport) *site {
	t.Helper()
	server, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, on(l)) }()
	web := &http.Transport{}
	t.Cleanup(func() {
		web.CloseIdleConnections()
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return &site{"http://" + l.Addr().String(), &http.Client{Transport: web}}
}

// answer is a response as a client sees it.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a *answer) challenge() string { return strings.Join(a.header.Values("WWW-Authenticate"), "|") }

// send is one request; fields are names and values in turn.
func (s *site) send(t *testing.T, method, path, body string, fields ...string) *answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	resp, err := s.web.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	resp.Header.Del("Date")
	return &answer{resp.StatusCode, resp.Header, string(raw)}
}

// whoami calls the tool at the newest revision, which knows no sessions.
func (s *site) whoami(t *testing.T, fields ...string) *answer {
	t.Helper()
	return s.send(t, http.MethodPost, "/mcp", whoami, append([]string{
		"Content-Type", "application/json", "Accept", "application/json, text/event-stream",
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "whoami",
	}, fields...)...)
}

const whoami = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami","arguments":{},"_meta":{` +
	`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{}}}}`

// initialize opens a handshake session and is its id.
func (s *site) initialize(t *testing.T, revision string, fields ...string) *answer {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + revision +
		`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	return s.send(t, http.MethodPost, "/mcp", body, append([]string{
		"Content-Type", "application/json", "Accept", "application/json, text/event-stream",
	}, fields...)...)
}
