package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The error of a refused call names what is missing, whether or not the body is a JSON-RPC error.
func TestRefusedForScopes(t *testing.T) {
	t.Parallel()
	for status, tt := range map[int]struct{ challenge, want string }{
		403: {
			`Bearer scope="orders:write", error="insufficient_scope", error_description="more scopes are needed"`,
			" (scopes needed: orders:write)\nThe server says: insufficient_scope: more scopes are needed.\n",
		},
		401: {
			`Bearer error="invalid_token", error_description="the token has expired"`,
			"\nThe server says: invalid_token: the token has expired.\nThe server wants a valid token: log in (kagami auth login), give --bearer TOKEN or set KAGAMI_BEARER.\n",
		},
		400: {`Bearer error="invalid_request"`, "\nThe server says: invalid_request.\n"},
	} {
		for _, body := range []string{"", `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Forbidden"}}`} {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("WWW-Authenticate", tt.challenge)
				w.WriteHeader(status)
				_, _ = w.Write([]byte(body))
			}))
			_, errs, code := kagami(t, "call", s.URL+"/mcp", "x")
			if want := map[bool]int{true: 4, false: 3}[status == http.StatusBadRequest]; code != want || !strings.Contains(errs, tt.want) {
				t.Errorf("%d: exit code %d\n%s", status, code, errs)
			}
			s.Close()
		}
	}
}
