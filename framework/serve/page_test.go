package serve_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/serve"
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
			text := get(t, address)
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
	for args, want := range map[string]string{"--page=0.0.0.0:0": "others can reach", "--page=7000": "want :PORT", "--worker --page": "leave --page out"} {
		err := serve.Run(t.Context(), greeter(), strings.Fields(args), serve.Streams(nil, nil, nil))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func get(t *testing.T, address string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
