package testkit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/testkit"
)

// A form is sent by its own method, and by GET if it names none, as browsers do.
func TestBrowseMethods(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ form, want string }{
		"post":        {`method="post" action="/done?at=1"`, "POST /done?at=1 button=yes&in=x"},
		"in capitals": {`method="POST" action="/done"`, "POST /done button=yes&in=x"},
		"get":         {`method="get" action="/done?at=1"`, "GET /done?button=yes&in=x button=yes&in=x"},
		"none":        {`action="/done"`, "GET /done?button=yes&in=x button=yes&in=x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got string
			mux := http.NewServeMux()
			mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = fmt.Fprintf(w, `<html><body><form %s><input name="in" value="x"/><button name="button" value="no"/><button name="button" value="yes"/></form></body></html>`, tt.form)
			})
			mux.HandleFunc("/done", func(_ http.ResponseWriter, r *http.Request) {
				_ = r.ParseForm()
				r.Form.Del("at")
				got = r.Method + " " + r.URL.String() + " " + r.Form.Encode()
			})
			server := httptest.NewServer(mux)
			defer server.Close()
			if err := testkit.Browse(t)(t.Context(), server.URL); err != nil || got != tt.want {
				t.Errorf("%v, sent was %q, want %q", err, got, tt.want)
			}
		})
	}
}

// The page of an issuer that asks leads back to the client, whose address may have a query.
func TestBrowseAnIssuerThatAsks(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string][]testkit.Fault{"at once": nil, "on a page": {testkit.Asks}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got url.Values
			client := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.URL.Query() }))
			defer client.Close()
			idp := testkit.IdP(t)
			idp.Client("me", "")
			idp.Fault(faults...)
			for _, back := range []string{"/cb", "/cb?tenant=acme"} {
				got = nil
				page := idp.URL() + "/authorize?" + url.Values{
					"client_id": {"me"}, "redirect_uri": {client.URL + back}, "code_challenge_method": {"S256"}, "state": {"s"},
				}.Encode()
				if err := testkit.Browse(t)(t.Context(), page); err != nil {
					t.Fatal(err)
				}
				if got.Get("code") == "" || got.Get("state") != "s" || strings.Contains(back, "acme") != (got.Get("tenant") == "acme") {
					t.Errorf("%s received %v", back, got)
				}
			}
		})
	}
}
