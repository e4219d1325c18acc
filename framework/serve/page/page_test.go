package page_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/page"
)

// browser is what a user's browser holds of one page.
type browser struct {
	t              *testing.T
	base           string // http://127.0.0.1:PORT
	cookie, secret string
}

// opened serves a page and opens it by its address.
func opened(t *testing.T, o page.Options) *browser {
	t.Helper()
	b, address := served(t, o)
	b.open(address)
	return b
}

// served serves a page until the test ends.
func served(t *testing.T, o page.Options) (*browser, string) {
	t.Helper()
	p, err := page.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return serving(t, p)
}

// shows serves a page that is there already, and opens it.
func shows(t *testing.T, p *page.Page) *browser {
	t.Helper()
	b, address := serving(t, p)
	b.open(address)
	return b
}

func serving(t *testing.T, p *page.Page) (*browser, string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() { done <- p.Serve(ctx, "127.0.0.1:0", func(address string) { ready <- address }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	address := <-ready
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, base: "http://" + u.Host}, address
}

// open takes both secrets from the answer to an address with a key.
func (b *browser) open(address string) {
	b.t.Helper()
	response := b.do(http.MethodGet, strings.TrimPrefix(address, b.base), "", nil)
	_, rest, _ := strings.Cut(response.body, `data-secret="`)
	b.secret, _, _ = strings.Cut(rest, `"`)
	for _, cookie := range response.cookies {
		if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode {
			b.t.Errorf("cookie %v: want HttpOnly and SameSite=Strict", cookie)
		}
		b.cookie = cookie.String()
	}
	if b.secret == "" || b.cookie == "" {
		b.t.Fatalf("%s gave no secrets: %d %s", address, response.status, response.body)
	}
	b.cookie, _, _ = strings.Cut(b.cookie, ";")
}

// answer is what the page has answered.
type answer struct {
	status  int
	header  http.Header
	cookies []*http.Cookie
	body    string
}

// do sends one request, with what the browser holds and the fields of header, where "" removes one.
func (b *browser) do(method, path, body string, header map[string]string) answer {
	b.t.Helper()
	response := b.send(method, path, body, header)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, response.Cookies(), string(text)}
}

func (b *browser) send(method, path, body string, header map[string]string) *http.Response {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	for name, value := range map[string]string{"Cookie": b.cookie, "Kagami-Page": b.secret} {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	for name, value := range header {
		switch {
		case name == "Host":
			request.Host = value
		case value == "":
			request.Header.Del(name)
		default:
			request.Header.Set(name, value)
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	return response
}

// ask decodes an answer of the page.
func (b *browser) ask(method, path, body string, into any) {
	b.t.Helper()
	response := b.do(method, path, body, nil)
	if response.status >= 300 {
		b.t.Fatalf("%s %s: %d %s", method, path, response.status, response.body)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal([]byte(response.body), into); err != nil {
		b.t.Fatalf("%s %s: %v in %s", method, path, err, response.body)
	}
}

// done is a call that is over.
type done struct {
	Phase   string          `json:"phase"`
	IsError bool            `json:"isError"`
	Result  json.RawMessage `json:"result"`
	Error   struct {
		Message string `json:"message"`
	} `json:"error"`
}

// start begins a call and returns its id.
func (b *browser) start(order string) string {
	b.t.Helper()
	var started struct{ Call string }
	b.ask(http.MethodPost, "/api/calls", order, &started)
	return started.Call
}

// end waits for the end of a call.
func (b *browser) end(id string) done {
	b.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		var d done
		if b.ask(http.MethodGet, "/api/calls/"+id, "", &d); d.Phase != "sent" {
			return d
		}
	}
	b.t.Fatalf("call %s has not ended", id)
	return done{}
}

type addIn struct {
	A int64  `json:"a"`
	B int64  `json:"b"`
	P string `json:"p,omitempty" jsonschema:"format=password"`
}

type sum struct {
	Sum int64 `json:"sum"`
}

// host is a small server in this process.
func host(t *testing.T, components ...framework.Component) *framework.Server {
	t.Helper()
	add := framework.Tool("add", func(_ context.Context, in addIn) (sum, error) { return sum{in.A + in.B}, nil })
	server, err := framework.New("calc", "1.0").Add(add).Add(components...).Build()
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// listenOn takes an address that a server has just left, too.
func listenOn(t *testing.T, addr string) net.Listener {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		var config net.ListenConfig
		listener, err := config.Listen(t.Context(), "tcp", addr)
		if err == nil {
			return listener
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
