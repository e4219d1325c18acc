package page_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/serve/page"
)

// oldServer is a server over HTTP that speaks 2025-06-18 alone, as other SDKs do.
func oldServer(t *testing.T) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		switch _ = json.NewDecoder(r.Body).Decode(&m); {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case m.Method == "initialize":
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"old","version":"1"}}}`, m.ID)
		default:
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// TestPageOfHTML checks that the page does not show the HTML of an address without an MCP server.
func TestPageOfHTML(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"<!DOCTYPE html><title>Shop</title>": "There is no MCP server at this address: it answers HTTP 404 with a page of HTML. The endpoint is usually at /mcp.",
		"no <html> here":                     "no <html> here",
	} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(web.Close)
		var seen struct{ State struct{ Name, Reason string } }
		opened(t, page.Options{URL: web.URL}).ask(http.MethodGet, "/api/server", "", &seen)
		if seen.State.Name != "lost" || !strings.HasSuffix(seen.State.Reason, want) {
			t.Errorf("%s: %+v", body, seen.State)
		}
	}
}

// TestSpeaks: a server in this process speaks all revisions. Another one shows by its answers which.
func TestSpeaks(t *testing.T) {
	t.Parallel()
	type about struct {
		Revision string
		Speaks   map[string]bool
		State    struct{ Name, Reason string }
	}
	var own, foreign about
	opened(t, page.Options{Host: host(t)}).ask(http.MethodGet, "/api/server", "", &own)
	for _, rev := range revisions() {
		if !own.Speaks[rev] {
			t.Errorf("the own server does not speak %s", rev)
		}
	}
	b := opened(t, page.Options{URL: oldServer(t)})
	b.ask(http.MethodGet, "/api/server", "", &foreign)
	want := map[string]bool{"2025-06-18": true, "2025-11-25": false, "2026-07-28": false}
	if foreign.Revision != "2025-06-18" || !maps.Equal(foreign.Speaks, want) {
		t.Errorf("at first: %+v", foreign)
	}
	foreign = about{}
	b.ask(http.MethodPost, "/api/connect", `{"revision":"2024-11-05"}`, &foreign)
	want["2024-11-05"] = false
	if foreign.Revision != "" || !maps.Equal(foreign.Speaks, want) || foreign.State.Name != "refused" || foreign.State.Reason != "2024-11-05" {
		t.Errorf("after 2024-11-05: %+v", foreign)
	}
	foreign = about{}
	b.ask(http.MethodPost, "/api/connect", `{"revision":""}`, &foreign)
	if foreign.Revision != "2025-06-18" || foreign.State.Name != "connected" {
		t.Errorf("after the choice of the server: %+v", foreign)
	}
	foreign = about{}
	b.ask(http.MethodPost, "/api/connect", `{"revision":"2025-06-18"}`, &foreign)
	if foreign.Revision != "2025-06-18" || !maps.Equal(foreign.Speaks, want) {
		t.Errorf("after 2025-06-18: %+v", foreign)
	}
}

// TestSpeaksUnknown: a server that cannot be reached has shown nothing.
func TestSpeaksUnknown(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	var about struct{ Speaks map[string]bool }
	b := opened(t, page.Options{URL: gone.URL})
	b.ask(http.MethodPost, "/api/connect", `{"revision":"2024-11-05"}`, &about)
	if about.Speaks == nil || len(about.Speaks) > 0 {
		t.Errorf("it speaks %v", about.Speaks)
	}
}
