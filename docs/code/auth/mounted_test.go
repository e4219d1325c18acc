package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The challenge to a client without a token names the URL of the metadata, and the URL works.
func TestMounted(t *testing.T) {
	t.Parallel()
	server, err := NewApp(Guard("https://login.example.com", resource, nil)).Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Shutdown(context.WithoutCancel(t.Context())) })
	mux := UnderNetHTTP(server)
	get := func(url string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))
		return w
	}
	challenge := get(resource).Header().Get("WWW-Authenticate")
	_, rest, _ := strings.Cut(challenge, `resource_metadata="`)
	named, _, _ := strings.Cut(rest, `"`)
	for _, url := range []string{named, "https://shop.example.com/.well-known/oauth-protected-resource"} {
		if found := get(url); found.Code != http.StatusOK || !strings.Contains(found.Body.String(), `"resource":"`+resource+`"`) {
			t.Errorf("told %s; %s: %d %s", challenge, url, found.Code, found.Body)
		}
	}
}
