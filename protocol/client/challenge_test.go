package client_test

import (
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

func FuzzChallengeParam(f *testing.F) {
	f.Add(`Bearer a="b\"c", error=x`, "a")
	f.Add(`=,="`, "")
	f.Fuzz(func(t *testing.T, header, name string) {
		if value := (&client.HTTPError{Challenge: header}).ChallengeParam(name); len(value) > len(header) {
			t.Errorf("%q has less than %q", header, value)
		}
	})
}
