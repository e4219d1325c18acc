package auth_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/kagami-mcp/kagami/middleware/auth"
)

// Numbers of claims are exact, and scopes are where servers put them.
func TestClaims(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "k1")
	v := i.jwt()
	tests := map[string]struct {
		claims map[string]any
		want   string
	}{
		"a list of names":  {map[string]any{"scope": "a b  a"}, "alice [a b]"},
		"scope is a list":  {map[string]any{"scope": []string{"a", "b"}}, "alice [a b]"},
		"scp":              {map[string]any{"scp": []string{"c"}, "scope": "a"}, "alice [a c]"},
		"scp is a text":    {map[string]any{"scp": "c d"}, "alice [c d]"},
		"no names":         {map[string]any{"scope": 7, "scp": []any{7, "e\nf", `"`}}, "alice []"},
		"a client":         {map[string]any{"sub": "", "client_id": "robot"}, "robot []"},
		"audience in caps": {map[string]any{"aud": "HTTPS://API.example.com/mcp/"}, "alice []"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := goodClaims()
			maps.Copy(c, tt.claims)
			c["tenant"] = int64(9007199254740993)
			p := good(t, v, sign(t, i.keys["k1"], jwt.SigningMethodES256, map[string]any{"kid": "k1"}, c))
			if got := fmt.Sprint(p.Subject, " ", p.Scopes); got != tt.want || p.Issuer != issuerURL || p.Expires.IsZero() {
				t.Errorf("%s, of %s until %s", got, p.Issuer, p.Expires)
			}
			if n, ok := p.Claims["tenant"].(json.Number); !ok || n != "9007199254740993" {
				t.Errorf("tenant %v", p.Claims["tenant"])
			}
		})
	}
}

// TestOddClaims checks that a token is refused if its claims mean something else to a less strict
// reader, although they come from the issuer.
func TestOddClaims(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "k1")
	number := func(text string) json.RawMessage { return json.RawMessage(text) }
	tests := map[string]struct {
		claims map[string]any
		reason string
	}{
		"a numbered user":     {map[string]any{"sub": 7, "client_id": "robot"}, "no subject"},
		"a list of users":     {map[string]any{"sub": []string{"alice"}, "client_id": "robot"}, "no subject"},
		"a nameless user":     {map[string]any{"sub": "", "preferred_username": "ann", "client_id": "robot"}, "no subject"},
		"audience, fragment":  {map[string]any{"aud": resource + "#x"}, "not for this server"},
		"audience, user":      {map[string]any{"aud": "https://u@api.example.com/mcp"}, "not for this server"},
		"audience, query":     {map[string]any{"aud": resource + "?tenant=b"}, "not for this server"},
		"audience, port":      {map[string]any{"aud": "https://api.example.com:443/mcp"}, "not for this server"},
		"audience, two":       {map[string]any{"aud": resource + "//"}, "not for this server"},
		"audience, caps":      {map[string]any{"aud": "https://api.example.com/MCP"}, "not for this server"},
		"audience, nested":    {map[string]any{"aud": []any{[]any{resource}}}, "not for this server"},
		"issuer with a slash": {map[string]any{"iss": issuerURL + "/"}, "of another issuer"},
		"a list of issuers":   {map[string]any{"iss": []string{issuerURL}}, "iss is invalid"},
		"exp in milliseconds": {map[string]any{"exp": time.Now().Add(time.Hour).UnixMilli()}, "a date of the token is invalid"},
		"exp beyond a float":  {map[string]any{"exp": number("1e400")}, ""},
		"exp before the era":  {map[string]any{"exp": -1}, "expired"},
		"exp is null":         {map[string]any{"exp": nil}, "exp is invalid"},
		"nbf beyond a clock":  {map[string]any{"nbf": number("1e30")}, ""},
		"nbf beyond a float":  {map[string]any{"nbf": number("1e400")}, ""},
		"nbf is a text":       {map[string]any{"nbf": "now"}, "nbf is invalid"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := goodClaims()
			maps.Copy(c, tt.claims)
			token := sign(t, i.keys["k1"], jwt.SigningMethodES256, map[string]any{"kid": "k1"}, c)
			for _, leeway := range []time.Duration{0, -1} {
				v := i.jwt()
				v.Leeway = leeway
				_, err := auth.Bearer(v).Authenticate(t.Context(), bearer(token))
				if told := refused(t, err); told.Status != 401 || !strings.Contains(told.Err.Error(), tt.reason) {
					t.Errorf("leeway %s: %d %v", leeway, told.Status, told.Err)
				}
			}
		})
	}
}
