package testkit_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/testkit"
)

// ask returns the status and the JSON of an answer.
func ask(t *testing.T, method, where, form, id, secret string) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, where, strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	if form != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.SetBasicAuth(id, secret)
	}
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := web.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	_ = json.Unmarshal(raw, &document)
	return answer.StatusCode, document
}

func TestIdP(t *testing.T) {
	t.Parallel()
	idp := testkit.IdP(t)
	for _, place := range []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"} {
		status, document := ask(t, http.MethodGet, idp.URL()+place, "", "", "")
		if status != http.StatusOK || document["issuer"] != idp.URL() || document["jwks_uri"] != idp.JWKS() {
			t.Errorf("%s: %d %v", place, status, document)
		}
	}
	count := func() int {
		_, document := ask(t, http.MethodGet, idp.JWKS(), "", "", "")
		keys, _ := document["keys"].([]any)
		return len(keys)
	}
	if n := count(); n != 1 {
		t.Errorf("%d keys at first", n)
	}
	idp.Rotate()
	if n := count(); n != 2 {
		t.Errorf("%d keys after a rotation", n)
	}
	idp.Withdraw()
	if n := count(); n != 1 || idp.Fetches() != 3 {
		t.Errorf("%d keys after the old one was withdrawn, %d fetches", n, idp.Fetches())
	}
	idp.Down(true)
	if status, _ := ask(t, http.MethodGet, idp.JWKS(), "", "", ""); status != http.StatusServiceUnavailable {
		t.Errorf("an issuer that is down answers %d", status)
	}
}

// TestIdPShortToken checks that a token is valid for its full lifetime, although "exp" has whole
// seconds.
func TestIdPShortToken(t *testing.T) {
	t.Parallel()
	before := time.Now()
	_, payload, _ := strings.Cut(testkit.IdP(t).Token("alice", "x", time.Millisecond), ".")
	payload, _, _ = strings.Cut(payload, ".")
	text, err := base64.RawURLEncoding.DecodeString(payload)
	var claims struct{ Exp int64 }
	if err == nil {
		err = json.Unmarshal(text, &claims)
	}
	if err != nil || time.Unix(claims.Exp, 0).Before(before.Add(time.Millisecond)) {
		t.Errorf("it expires at %d, and was made at %v: %v", claims.Exp, before, err)
	}
}

func TestIdPIntrospection(t *testing.T) {
	t.Parallel()
	idp := testkit.IdP(t)
	endpoint, id, secret := idp.Introspection()
	active := func(token string) any {
		_, document := ask(t, http.MethodPost, endpoint, url.Values{"token": {token}}.Encode(), id, secret)
		return document["active"]
	}
	token := idp.Token("alice", "https://api.example.com", time.Hour, "a", "b")
	if got := active(token); got != true {
		t.Errorf("a good token: %v", got)
	}
	if got := active(idp.Token("alice", "x", -time.Minute)); got != false {
		t.Errorf("an expired token: %v", got)
	}
	past := time.Now().Add(-time.Minute).Unix()
	for _, exp := range []any{past, int(past), float64(past), json.Number("1"), uint8(1)} {
		if got := active(idp.Sign(map[string]any{"sub": "alice", "exp": exp})); got != false {
			t.Errorf("a token that expired at a %T: %v", exp, got)
		}
	}
	if got := active(idp.Sign(map[string]any{"sub": "alice"})); got != true {
		t.Errorf("a token that does not expire: %v", got)
	}
	if got := active(token + "x"); got != false {
		t.Errorf("an unknown token: %v", got)
	}
	idp.Revoke(token)
	if got := active(token); got != false {
		t.Errorf("a revoked token: %v", got)
	}
	if status, _ := ask(t, http.MethodPost, endpoint, "token=x", id, "wrong"); status != http.StatusUnauthorized {
		t.Errorf("a wrong secret: %d", status)
	}
	if status, _ := ask(t, http.MethodPost, endpoint, "token=x", "other", secret); status != http.StatusUnauthorized {
		t.Errorf("a wrong client: %d", status)
	}
}
