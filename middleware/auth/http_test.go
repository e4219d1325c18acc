package auth_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport"
)

const (
	unauthorized = `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Unauthorized"}}`
	badRequest   = `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Bad Request"}}`
	tooLarge     = `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Request Header Fields Too Large"}}`
	forbidden    = `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Forbidden"}}`
	away         = `{"jsonrpc":"2.0","error":{"code":-32603,"message":"Service Unavailable"}}`

	asked   = `Bearer resource_metadata="` + metadataURL + `", scope="mcp"`
	invalid = asked + `, error="invalid_token", error_description="`
	wrong   = `Bearer resource_metadata="` + metadataURL + `", error="invalid_request", error_description="`
)

// b64 is a part of a token.
func b64(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

func TestBadTokens(t *testing.T) {
	t.Parallel()
	idp, other := testkit.IdP(t), testkit.IdP(t)
	good := idp.Token("alice", resource, time.Hour, "mcp")
	parts := strings.Split(good, ".")
	claims := func(change func(map[string]any)) string {
		c := map[string]any{
			"iss": idp.URL(), "sub": "alice", "aud": []string{"https://x.example.com", resource}, "scope": "mcp",
			"exp": time.Now().Add(time.Hour).Unix(),
		}
		change(c)
		return "Bearer " + idp.Sign(c)
	}
	// What a library that takes the key for a secret would accept.
	confused := b64(map[string]any{"alg": "HS256", "typ": "JWT", "kid": header(t, good)["kid"]}) + "." + parts[1]
	mac := hmac.New(sha256.New, []byte(published(t, idp)))
	mac.Write([]byte(confused))
	confused += "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))

	const notValid = invalid + `the token is not valid here"`
	tests := map[string]struct {
		authorization []string
		status        int
		challenge     string
		body          string
	}{
		"none":             {nil, 401, asked, unauthorized},
		"empty":            {[]string{""}, 401, asked, unauthorized},
		"another scheme":   {[]string{"Basic YTpi"}, 401, asked, unauthorized},
		"no token":         {[]string{"Bearer"}, 400, wrong + `this is not a token"`, badRequest},
		"two tokens":       {[]string{"Bearer a b"}, 400, wrong + `this is not a token"`, badRequest},
		"a list":           {[]string{"Bearer a, Bearer b"}, 400, wrong + `this is not a token"`, badRequest},
		"quotes":           {[]string{`Bearer "a"`}, 400, wrong + `this is not a token"`, badRequest},
		"two headers":      {[]string{"Bearer " + good, "Bearer " + good}, 400, wrong + `more than one Authorization header"`, badRequest},
		"9 KB":             {[]string{"Bearer " + strings.Repeat("a", 9<<10)}, 400, wrong + `the token is too long"`, badRequest},
		"malformed":        {[]string{"Bearer not-a-jwt"}, 401, notValid, unauthorized},
		"cut off":          {[]string{"Bearer " + good[:len(good)-4]}, 401, notValid, unauthorized},
		"changed":          {[]string{"Bearer " + parts[0] + "." + b64(map[string]any{"sub": "root"}) + "." + parts[2]}, 401, notValid, unauthorized},
		"alg none":         {[]string{"Bearer " + b64(map[string]any{"alg": "none"}) + "." + parts[1] + "."}, 401, notValid, unauthorized},
		"alg none, signed": {[]string{"Bearer " + b64(map[string]any{"alg": "none"}) + "." + parts[1] + "." + parts[2]}, 401, notValid, unauthorized},
		"key as a secret":  {[]string{"Bearer " + confused}, 401, notValid, unauthorized},
		"unknown kid":      {[]string{"Bearer " + other.Token("alice", resource, time.Hour, "mcp")}, 401, notValid, unauthorized},
		"no exp":           {[]string{claims(func(c map[string]any) { delete(c, "exp") })}, 401, invalid + `the token lacks a claim"`, unauthorized},
		"exp is a text":    {[]string{claims(func(c map[string]any) { c["exp"] = "tomorrow" })}, 401, notValid, unauthorized},
		"expired":          {[]string{"Bearer " + idp.Token("alice", resource, -time.Hour, "mcp")}, 401, invalid + `the token has expired"`, unauthorized},
		"future nbf":       {[]string{claims(func(c map[string]any) { c["nbf"] = time.Now().Add(time.Hour).Unix() })}, 401, invalid + `the token is not valid yet"`, unauthorized},
		"wrong issuer":     {[]string{claims(func(c map[string]any) { c["iss"] = other.URL() })}, 401, invalid + `the token is of another issuer"`, unauthorized},
		"no issuer":        {[]string{claims(func(c map[string]any) { delete(c, "iss") })}, 401, invalid + `the token lacks a claim"`, unauthorized},
		"wrong audience":   {[]string{"Bearer " + idp.Token("alice", "https://other.example.com/mcp", time.Hour, "mcp")}, 401, invalid + `the token is not for this server"`, unauthorized},
		"no audience":      {[]string{claims(func(c map[string]any) { delete(c, "aud") })}, 401, invalid + `the token is not for this server"`, unauthorized},
		"no subject":       {[]string{claims(func(c map[string]any) { delete(c, "sub") })}, 401, invalid + `the token has no subject"`, unauthorized},
		"bound to a key": {
			[]string{claims(func(c map[string]any) { c["cnf"] = map[string]any{"jkt": "x"} })},
			401, invalid + `the token is bound to a key, and proofs are not taken here"`, unauthorized,
		},
		"missing scope": {
			[]string{"Bearer " + idp.Token("alice", resource, time.Hour, "mcp:read")},
			403,
			asked + `, error="insufficient_scope", error_description="more scopes are needed"`, forbidden,
		},
	}
	jwt := &auth.JWT{Issuer: idp.URL()}
	overHTTP(t, auth.Bearer(jwt, auth.Resource(resource), auth.Require("mcp")), func(t *testing.T, s *site) {
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				var fields []string
				for _, each := range tt.authorization {
					fields = append(fields, "Authorization", each)
				}
				got := s.whoami(t, fields...)
				if got.status != tt.status || got.challenge() != tt.challenge || got.body != tt.body {
					t.Errorf("%d %s %s\nwant %d %s %s", got.status, got.challenge(), got.body, tt.status, tt.challenge, tt.body)
				}
				whole := []string{"Content-Length: " + strconv.Itoa(len(tt.body)), "Content-Type: application/json", "Www-Authenticate: " + tt.challenge}
				if !slices.Equal(keys(got.header), whole) {
					t.Errorf("the header is %q, want %q", keys(got.header), whole)
				}
			})
		}
		want := "alice of " + idp.URL() + ": mcp"
		for _, token := range []string{"Bearer " + good, "bearer  " + good, claims(func(c map[string]any) { c["scp"] = []string{"mcp"} })} {
			if got := s.whoami(t, "Authorization", token); got.status != http.StatusOK || !strings.Contains(got.body, want) {
				t.Errorf("a good token: %d %s %s", got.status, got.challenge(), got.body)
			}
		}
	})
}

// header is the first part of a token.
func header(t *testing.T, token string) map[string]any {
	t.Helper()
	part, _, _ := strings.Cut(token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		t.Fatal(err)
	}
	var h map[string]any
	if err := json.Unmarshal(raw, &h); err != nil {
		t.Fatal(err)
	}
	return h
}

// published is the document with the keys.
func published(t *testing.T, idp *testkit.Issuer) string {
	t.Helper()
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := web.Get(idp.JWKS())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A header of 64 KB is refused by the HTTP libraries themselves.
func TestHugeHeader(t *testing.T) {
	t.Parallel()
	overHTTP(t, auth.Bearer(auth.Static{"key": {Subject: "a"}}), func(t *testing.T, s *site) {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		request := "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + strings.Repeat("a", 64<<10) + "\r\n\r\n"
		go func() { _, _ = io.WriteString(conn, request) }() // it is not read to its end
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		want := answer{431, http.Header{"Content-Type": {"application/json"}, "Content-Length": {"85"}}, tooLarge}
		if strings.HasSuffix(t.Name(), "nethttp") { // its library writes it, whose handlers see no request
			want = answer{431, http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, "431 Request Header Fields Too Large"}
		}
		resp.Header.Del("Date")
		if resp.StatusCode != want.status || strings.Join(keys(resp.Header), "|") != strings.Join(keys(want.header), "|") {
			t.Errorf("64 KB: %d %v", resp.StatusCode, resp.Header)
		}
		// What was not read of the request may break the connection before the body is here.
		if raw, err := io.ReadAll(resp.Body); err == nil && string(raw) != want.body {
			t.Errorf("64 KB: %s", raw)
		}
	})
}

// The token counts in the header only, on all paths and methods, and whatever revision
// the request is of.
func TestEveryRequest(t *testing.T) {
	t.Parallel()
	a := auth.Bearer(auth.Static{"key": {Subject: "alice"}})
	overHTTP(t, a, func(t *testing.T, s *site) {
		for _, path := range []string{"/mcp?access_token=key", "/sse?access_token=key", "/messages?access_token=key"} {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
				got := s.send(t, method, path, "access_token=key", "Content-Type", "application/x-www-form-urlencoded")
				if got.status != http.StatusMethodNotAllowed && (got.status != 401 || got.challenge() != "Bearer" || got.body != unauthorized) {
					t.Errorf("%s %s: %d %s %s", method, path, got.status, got.challenge(), got.body)
				}
			}
		}
		for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
			if got := s.initialize(t, revision); got.status != 401 || got.challenge() != "Bearer" || got.header.Get("Mcp-Session-Id") != "" {
				t.Errorf("%s without a token: %d %s", revision, got.status, got.challenge())
			}
			got := s.initialize(t, revision, "Authorization", "Bearer key")
			session := got.header.Get("Mcp-Session-Id")
			if got.status != http.StatusOK || session == "" {
				t.Errorf("%s: %d %s", revision, got.status, got.body)
			}
			call := []string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream", "Mcp-Session-Id", session}
			ping := `{"jsonrpc":"2.0","id":2,"method":"ping"}`
			if got := s.send(t, http.MethodPost, "/mcp", ping, call...); got.status != 401 || got.body != unauthorized {
				t.Errorf("%s: a session is taken for a credential: %d %s", revision, got.status, got.body)
			}
			if got := s.send(t, http.MethodPost, "/mcp", ping, append(call, "Authorization", "Bearer key")...); got.status != http.StatusOK {
				t.Errorf("%s in the session: %d %s", revision, got.status, got.body)
			}
		}
	})
}

// Who knows another's session id gets the bytes that anybody gets for none.
func TestStolenSession(t *testing.T) {
	t.Parallel()
	a := auth.Bearer(auth.Static{"one": {Subject: "alice"}, "two": {Subject: "bob"}, "three": {Subject: "alice", Issuer: "https://other.example.com"}})
	overHTTP(t, a, func(t *testing.T, s *site) {
		for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
			session := s.initialize(t, revision, "Authorization", "Bearer one").header.Get("Mcp-Session-Id")
			for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
				with := func(id, key string) *answer {
					return s.send(t, method, "/mcp", `{"jsonrpc":"2.0","id":2,"method":"ping"}`, "Content-Type", "application/json",
						"Accept", "application/json, text/event-stream", "Mcp-Session-Id", id, "Authorization", "Bearer "+key)
				}
				unknown := with(strings.Repeat("A", len(session)), "two")
				if unknown.status != http.StatusNotFound {
					t.Errorf("%s %s: an unknown session is %d", revision, method, unknown.status)
				}
				for _, key := range []string{"two", "three"} {
					got := with(session, key)
					if got.status != unknown.status || got.body != unknown.body || !slices.EqualFunc(keys(got.header), keys(unknown.header), strings.EqualFold) {
						t.Errorf("%s %s: another's session is %d %s %v, an unknown one %d %s %v", revision, method,
							got.status, got.body, got.header, unknown.status, unknown.body, unknown.header)
					}
				}
			}
		}
	})
}

// keys are the fields of a header with their values, in order.
func keys(h http.Header) []string {
	var all []string
	for name, values := range h {
		all = append(all, name+": "+strings.Join(values, ","))
	}
	slices.Sort(all)
	return all
}

// What proxies claim, or a client in their name, changes nothing.
func TestForgedForwarding(t *testing.T) {
	t.Parallel()
	a := auth.Bearer(auth.Static{"key": {Subject: "alice"}}, auth.Resource(resource), auth.AuthorizationServers("https://login.example.com"))
	overHTTP(t, a, func(t *testing.T, s *site) {
		forged := []string{
			"X-Forwarded-Host", "evil.example.com", "X-Forwarded-Proto", "http", "X-Forwarded-For", "127.0.0.1", "Forwarded", "host=evil.example.com",
			"X-Forwarded-User", "root", "X-Forwarded-Access-Token", "key", "X-Original-Url", "/healthz", "Proxy-Authorization", "Bearer key",
		}
		got := s.whoami(t, forged...)
		if want := `Bearer resource_metadata="` + metadataURL + `"`; got.status != 401 || got.challenge() != want {
			t.Errorf("%d %s", got.status, got.challenge())
		}
		if got := s.send(t, http.MethodGet, wellKnown, "", forged...); strings.Contains(got.body, "evil") {
			t.Errorf("metadata: %s", got.body)
		}
		if got := s.whoami(t, append(forged, "Authorization", "Bearer key")...); !strings.Contains(got.body, "alice of") {
			t.Errorf("with a key: %d %s", got.status, got.body)
		}
	})
}

// Nothing that a client, an issuer or a program's own error says gets into a header or
// a body, and no reason that is logged holds a token.
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	idp := testkit.IdP(t)
	secret := "s3cret-" + strings.Repeat("x", 40)
	var mu sync.Mutex
	var reasons []string
	note := auth.OnRefuse(func(_ context.Context, err error) {
		mu.Lock()
		defer mu.Unlock()
		reasons = append(reasons, err.Error())
	})
	tokens := []string{
		secret, b64(map[string]any{"alg": "ES256\r\nSet-Cookie: a=b", "kid": secret}) + ".e30.AAAA",
		idp.Token(secret, resource, -time.Hour, secret), idp.Token("a", resource, time.Hour, "x\"\r\nSet-Cookie: a=b"),
	}
	a := auth.Bearer(&auth.JWT{Issuer: idp.URL()}, auth.Resource(resource), auth.Require("mcp"), note)
	overHTTP(t, a, func(t *testing.T, s *site) {
		for _, token := range tokens {
			got := s.whoami(t, "Authorization", "Bearer "+token)
			all := got.challenge() + got.body + strings.Join(keys(got.header), "\n")
			if got.status < 400 || strings.Contains(all, "s3cret") || strings.Contains(all, "Cookie") || !strings.Contains(got.challenge(), `scope="mcp"`) {
				t.Errorf("%d %s", got.status, all)
			}
		}
	})
	t.Cleanup(func() {
		if len(reasons) == 0 {
			t.Error("nobody was told")
		}
		for _, reason := range reasons {
			for _, token := range tokens {
				if strings.Contains(reason, token) {
					t.Errorf("a reason holds the token: %s", reason)
				}
			}
		}
	})
}

// own is an authenticator written by a program. It accepts no caller.
type own struct{ err error }

func (o own) Authenticate(context.Context, http.Header) (*transport.Principal, error) {
	return nil, o.err
}

// Whatever an authenticator of one's own says, the answer is a refusal that can be written.
func TestOwnAuthenticator(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err       error
		status    int
		challenge string
	}{
		"nobody, and no error": {nil, 401, "Bearer"},
		"any error":            {errors.New("no"), 401, "Bearer"},
		"what it says":         {&transport.AuthError{Status: 403, Challenge: `X a="b"`}, 403, `X a="b"`},
		"no challenge":         {&transport.AuthError{Status: 429}, 429, ""},
		"no status":            {&transport.AuthError{}, 401, "Bearer"},
		"a success":            {&transport.AuthError{Status: 200}, 401, "Bearer"},
		"no status of HTTP":    {&transport.AuthError{Status: 9999, Challenge: "X"}, 401, "X"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			overHTTP(t, own{tt.err}, func(t *testing.T, s *site) {
				if got := s.whoami(t); got.status != tt.status || got.challenge() != tt.challenge {
					t.Errorf("%d %s", got.status, got.challenge())
				}
			})
		})
	}
}
