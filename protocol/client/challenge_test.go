package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/client"
)

func TestChallengeParam(t *testing.T) {
	t.Parallel()
	type params struct{ scope, code, description string }
	for header, want := range map[string]params{
		"":       {},
		"Bearer": {},
		`Bearer resource_metadata="https://x/y?a=b", scope="a b:c", error="insufficient_scope", error_description="more scopes, \"please\""`: {
			"a b:c", "insufficient_scope", `more scopes, "please"`,
		},
		`DPoP algs="ES256 EdDSA", ERROR=invalid_token,Scope=a`: {"a", "invalid_token", ""},
		`Basic realm="scope=x", Bearer error="invalid_token"`:  {"", "invalid_token", ""},
		`Bearer error="a", Bearer error="b"`:                   {"", "a", ""},
		`Bearer error=a, scope="never ends`:                    {"", "a", ""},
		`Bearer scope="\`:                                      {},
		`Bearer =, ="x", scope`:                                {},
	} {
		e := &client.HTTPError{Challenge: header}
		if got := (params{e.ChallengeParam("scope"), e.ChallengeParam("error"), e.ChallengeParam("error_description")}); got != want {
			t.Errorf("%s: %+v", header, got)
		}
	}
}

// A server may repeat the token that it refuses. The error does not.
func TestRefusedTokenIsHidden(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := r.Header.Get("Authorization")
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", error_description="not valid: `+sent+`"`)
		http.Error(w, "not valid: "+sent, http.StatusUnauthorized)
	}))
	defer web.Close()
	token := client.BearerToken(func(context.Context) (string, error) { return "canary-token", nil })
	_, err := client.Connect(t.Context(), client.HTTP(web.URL, token))
	refused, ok := errors.AsType[*client.HTTPError](err)
	if !ok || refused.Body != "not valid: Bearer (hidden)" || refused.ChallengeParam("error_description") != refused.Body || strings.Contains(err.Error(), "canary") {
		t.Errorf("%v; %+v", err, refused)
	}
}

func FuzzChallengeParam(f *testing.F) {
	f.Add(`Bearer a="b\"c", error=x`, "a")
	f.Add(`=,="`, "")
	f.Fuzz(func(t *testing.T, header, name string) {
		if value := (&client.HTTPError{Challenge: header}).ChallengeParam(name); len(value) > len(header) {
			t.Errorf("%q has less than %q", header, value)
		}
	})
}
