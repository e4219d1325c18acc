package serve_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

// spoken is an error output that can be read while it is written.
type spoken struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *spoken) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

func (s *spoken) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

var pageAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\?k=\w+`)

// TestPage: the page is there beside each carrier, reaches the server, and ends with it.
func TestPage(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"stdio": {"--page"}, "http": {"--http", "127.0.0.1:0", "--page"}, "both": {"--stdio", "--http", "127.0.0.1:0", "--page=:0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, hold := io.Pipe()
			errs := &spoken{}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- serve.Run(ctx, greeter(), args, serve.Streams(in, io.Discard, errs)) }()
			address := ""
			for deadline := time.Now().Add(10 * time.Second); address == "" && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
				address = pageAddress.FindString(errs.String())
			}
			text, _ := get(t, address, "", "")
			if !strings.Contains(text, `data-secret="`) || strings.Contains(text, `data-secret=""`) {
				t.Errorf("%s gave no page: %s", address, text)
			}
			cancel()
			_ = hold.Close()
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
			if _, err := http.Get(address); err == nil { //nolint:bodyclose // there is none
				t.Error("the page outlives its server")
			}
		})
	}
	for args, want := range map[string]string{"--page=0.0.0.0:0": "others can reach", "--page=7000": "want :PORT", "--worker --page": "remove it or --page"} {
		err := serve.Run(t.Context(), greeter(), strings.Fields(args), serve.Streams(nil, nil, nil))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// TestPageOfASocketFile: a listener that has no URL cannot have a page, and the error says why.
func TestPageOfASocketFile(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Skip(err)
	}
	_, _, err = run(t, greeter(), []string{"--http", ":0", "--page"}, serve.HTTP(fiberhttp.Listener(l)))
	if err == nil || !strings.Contains(err.Error(), "--page reaches the server over TCP") {
		t.Errorf("got %v", err)
	}
}

// get returns a page, and the cookie that it sets. cookie and secret may be empty.
func get(t *testing.T, address, cookie, secret string) (text, set string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Cookie", cookie)
	request.Header.Set("Kagami-Page", secret)
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	set, _, _ = strings.Cut(response.Header.Get("Set-Cookie"), ";")
	return string(body), set
}

// asked opens the page and asks its interface for path.
func asked(t *testing.T, address, path string) string {
	t.Helper()
	text, cookie := get(t, address, "", "")
	_, rest, _ := strings.Cut(text, `data-secret="`)
	secret, _, _ := strings.Cut(rest, `"`)
	base, _, _ := strings.Cut(address, "?")
	text, _ = get(t, base+path, cookie, secret)
	return text
}

// TestPageCallsAsPrincipal: on stdio the page is who the token in the environment says, as the client is.
func TestPageCallsAsPrincipal(t *testing.T) {
	t.Setenv("KAGAMI_TEST_TOKEN", "sesame")
	guard := auth.Bearer(auth.Static{"sesame": {Subject: "ada", Scopes: []string{"read"}}})
	who := framework.Tool("who", func(ctx context.Context, _ struct{}) (string, error) {
		return transport.PrincipalFrom(ctx).Subject, nil
	}, framework.Scopes("read"))
	app := framework.New("guarded", "1", framework.WithAuth(guard)).Add(who)
	in, hold := io.Pipe()
	errs := &spoken{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- serve.Run(ctx, app, []string{"--page"}, serve.Streams(in, io.Discard, errs), serve.Stdio(auth.Env("KAGAMI_TEST_TOKEN", guard)))
	}()
	address := ""
	for deadline := time.Now().Add(10 * time.Second); address == "" && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		address = pageAddress.FindString(errs.String())
	}
	if address == "" {
		cancel()
		t.Fatalf("no page: %v %s", <-done, errs.String())
	}
	offers := asked(t, address, "api/offers")
	if !strings.Contains(offers, `"who"`) {
		t.Errorf("the page does not see the tool of the token's scope: %s", offers)
	}
	cancel()
	_ = hold.Close()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
}
