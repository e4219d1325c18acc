package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/transport"
)

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// refused is how err refuses.
func refused(t *testing.T, err error) *transport.AuthError {
	t.Helper()
	told, ok := errors.AsType[*transport.AuthError](err)
	if !ok {
		t.Fatalf("%v is no AuthError", err)
	}
	return told
}

func TestStatic(t *testing.T) {
	t.Parallel()
	v := auth.Static{"one": {Subject: "alice", Scopes: []string{"a"}, Claims: map[string]any{"x": 1}}, "two": {Subject: "bob"}, "": {Subject: "nobody"}}
	for token, want := range map[string]string{"one": "alice", "two": "bob"} {
		if p := good(t, v, token); p.Subject != want {
			t.Errorf("%s is %s", token, p.Subject)
		}
	}
	for _, token := range []string{"", "On", "one ", "ONE", "three"} {
		bad(t, v, token, false)
	}
	p := good(t, v, "one")
	p.Scopes[0], p.Claims["x"] = "root", 2
	if p := good(t, v, "one"); p.Scopes[0] != "a" || p.Claims["x"] != 1 {
		t.Error("principals share memory with the keys")
	}
}

// A program's own verifier may say anything.
func TestVerifierFunc(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		principal *transport.Principal
		err       error
		status    int
		challenge string
	}{
		"any error":       {nil, errors.New("password \"hunter2\" is wrong"), 401, `Bearer error="invalid_token", error_description="the token is not valid here"`},
		"nobody":          {nil, nil, 401, `Bearer error="invalid_token", error_description="the token is not valid here"`},
		"expired":         {&transport.Principal{Expires: time.Unix(1, 0)}, nil, 401, `Bearer error="invalid_token", error_description="the token has expired"`},
		"away":            {nil, fmt.Errorf("database: %w", auth.ErrUnavailable), 503, ""},
		"the client left": {nil, fmt.Errorf("database: %w", context.Canceled), 503, ""},
		"too slow":        {nil, fmt.Errorf("database: %w", context.DeadlineExceeded), 503, ""},
		"its own":         {nil, &transport.AuthError{Status: 403, Challenge: `Bearer error="x"`}, 403, `Bearer error="x"`},
		"its own, wrong":  {nil, &transport.AuthError{Status: 403, Challenge: "Bearer\r\nSet-Cookie: a=b"}, 403, ""},
		"its own, 401":    {nil, &transport.AuthError{Status: 401}, 401, `Bearer error="invalid_token"`},
		"its own, empty":  {nil, &transport.AuthError{}, 401, `Bearer error="invalid_token"`},
		"its own, 200":    {nil, &transport.AuthError{Status: 200}, 401, `Bearer error="invalid_token"`},
		"its own, odd":    {nil, &transport.AuthError{Status: 4010, Challenge: "Basic"}, 401, "Basic"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var reason error
			a := auth.Bearer(auth.VerifierFunc(func(_ context.Context, token string) (*transport.Principal, error) {
				if token != "token" {
					t.Errorf("verified %q", token)
				}
				return tt.principal, tt.err
			}), auth.OnRefuse(func(_ context.Context, err error) { reason = err }))
			p, err := a.Authenticate(t.Context(), bearer("token"))
			told := refused(t, err)
			if p != nil || told.Status != tt.status || told.Challenge != tt.challenge {
				t.Errorf("%+v, %d %s", p, told.Status, told.Challenge)
			}
			if reason == nil || tt.err != nil && !errors.Is(reason, tt.err) {
				t.Errorf("the reason is %v", reason)
			}
		})
	}
}

// What covers what is what Implies says, over any number of steps, and nothing else.
func TestImplies(t *testing.T) {
	t.Parallel()
	v := auth.VerifierFunc(func(_ context.Context, token string) (*transport.Principal, error) {
		return &transport.Principal{Subject: "a", Scopes: strings.Split(token, "+")}, nil
	})
	a := auth.Bearer(v, auth.Implies("admin", "write", "audit"), auth.Implies("write", "read"), auth.Implies("read", "write"), auth.Require("read"))
	for token, want := range map[string]string{
		"read": "[read write]", "write": "[write read]", "admin": "[admin write audit read]", "x+admin": "[x admin write audit read]",
		"x": "", "rea": "", "read.all": "", "READ": "",
	} {
		p, err := a.Authenticate(t.Context(), bearer(token))
		if want == "" {
			const challenge = `Bearer scope="read", error="insufficient_scope", error_description="more scopes are needed"`
			if told := refused(t, err); told.Status != 403 || told.Challenge != challenge {
				t.Errorf("%s: %d %s", token, told.Status, told.Challenge)
			}
			continue
		}
		if err != nil || fmt.Sprint(p.Scopes) != want {
			t.Errorf("%s: %+v, %v", token, p, err)
		}
	}
}

// Two guards add implied scopes to the same principal of a verifier. Each guard's scopes stay
// separate.
func TestImplies_NotShared(t *testing.T) {
	t.Parallel()
	kept := &transport.Principal{Subject: "alice", Scopes: append(make([]string, 0, 8), "base")}
	v := auth.VerifierFunc(func(context.Context, string) (*transport.Principal, error) { return kept, nil })
	var got []*transport.Principal
	for _, implied := range []string{"read", "write"} {
		p, err := auth.Bearer(v, auth.Implies("base", implied)).Authenticate(t.Context(), bearer("key"))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p)
	}
	if fmt.Sprint(got[0].Scopes, got[1].Scopes, kept.Scopes) != "[base read] [base write] [base]" {
		t.Errorf("%v, %v, of %v", got[0].Scopes, got[1].Scopes, kept.Scopes)
	}
}

// All scopes that are needed are in one challenge, those that the caller has included.
func TestStepUp(t *testing.T) {
	t.Parallel()
	a := auth.Bearer(auth.Static{"key": {Scopes: []string{"a"}}}, auth.Require("a", "b"), auth.Require("c", "a"))
	_, err := a.Authenticate(t.Context(), bearer("key"))
	const want = `Bearer scope="a b c", error="insufficient_scope", error_description="more scopes are needed"`
	if told := refused(t, err); told.Status != 403 || told.Challenge != want {
		t.Errorf("%d %s", told.Status, told.Challenge)
	}
	up, ok := a.(interface {
		InsufficientScope(scopes []string) *transport.AuthError
	})
	if !ok {
		t.Fatal("nobody else can ask for more scopes")
	}
	if told := up.InsufficientScope([]string{"x", "x", "y\"\r\nSet-Cookie: a=b", "z"}); told.Status != 403 || !strings.HasPrefix(told.Challenge, `Bearer scope="a b c x z", error`) {
		t.Errorf("%d %s", told.Status, told.Challenge)
	}
}

// A client that gets scopes in the challenge does not read scopes_supported, so the challenge has
// the scopes of components, too.
func TestSupportedIsAskedFor(t *testing.T) {
	t.Parallel()
	own := auth.VerifierFunc(func(context.Context, string) (*transport.Principal, error) {
		return nil, &transport.AuthError{Status: http.StatusUnauthorized}
	})
	both := auth.Bearer(own, auth.Require("a"), auth.Supported("b", "offline_access"))
	for want, tt := range map[string]struct {
		guard  transport.Authenticator
		header http.Header
	}{
		`Bearer scope="a b"`:                        {both, nil},
		`Bearer scope="a b", error="invalid_token"`: {both, bearer("token")},
		`Bearer scope="b"`:                          {auth.Bearer(own, auth.Supported("b")), nil},
	} {
		_, err := tt.guard.Authenticate(t.Context(), tt.header)
		if got := refused(t, err); got.Status != http.StatusUnauthorized || got.Challenge != want {
			t.Errorf("%d %s, want %s", got.Status, got.Challenge, want)
		}
	}
}

// One verifier may serve two servers: what it has verified for one is not the other's.
func TestAudienceOfBearer(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "k1")
	v := i.jwt()
	v.Audience = ""
	token := i.token(t, "k1")
	ours, others := auth.Bearer(v, auth.Resource(resource+"/")), auth.Bearer(v, auth.Resource("https://other.example.com/mcp"))
	for range 2 {
		if _, err := ours.Authenticate(t.Context(), bearer(token)); err != nil {
			t.Error(err)
		}
		if _, err := others.Authenticate(t.Context(), bearer(token)); err == nil {
			t.Error("a token of another server")
		}
	}
}

// FuzzHeader: whatever is sent, the answer is a token that was taken whole, or a
// refusal whose challenge can be written.
func FuzzHeader(f *testing.F) {
	for _, seed := range []string{"", "Bearer", "Bearer x", "bearer  x=", "Bearer x y", "Bearer =", "Basic x", "Bearer x,y", "Bearer \x00", "Bearer é"} {
		f.Add(seed)
	}
	var got string
	a := auth.Bearer(auth.VerifierFunc(func(_ context.Context, token string) (*transport.Principal, error) {
		got = token
		return &transport.Principal{Subject: "a"}, nil
	}), auth.Require("s"))
	f.Fuzz(func(t *testing.T, value string) {
		got = ""
		_, err := a.Authenticate(t.Context(), http.Header{"Authorization": {value}})
		told := refused(t, err) // the scope is missing always
		if strings.ContainsFunc(told.Challenge, func(r rune) bool { return r < ' ' || r > '~' }) || told.Status < 400 || told.Status > 403 {
			t.Errorf("%q: %d %q", value, told.Status, told.Challenge)
		}
		if (told.Status == 403) != (got != "") || !strings.HasSuffix(strings.Trim(value, " \t"), got) || strings.ContainsAny(got, " ,\t\r\n\"") {
			t.Errorf("%q: %d, the token is %q", value, told.Status, got)
		}
	})
}

// stage is a carrier that remembers what it was given.
type stage struct{ who *transport.Principal }

func (s *stage) Serve(ctx context.Context, _ transport.Host) error {
	s.who = transport.PrincipalFrom(ctx)
	return nil
}

func TestFromEnv(t *testing.T) {
	v := auth.Static{
		"key": {Subject: "alice"}, "old": {Subject: "alice", Expires: time.Unix(1, 0)},
		"bound": {Subject: "alice", Claims: map[string]any{"cnf": map[string]any{"jkt": "x"}}},
	}
	for token, want := range map[string]string{
		"bound": "the token in KAGAMI_TEST_TOKEN: auth: the token is bound to a key, and proofs are not taken here",
		"key":   "", "": "auth: set KAGAMI_TEST_TOKEN to a token", "old": "the token in KAGAMI_TEST_TOKEN: auth: the token has expired",
		"s3cret": "the token in KAGAMI_TEST_TOKEN: auth: an unknown key",
	} {
		t.Setenv("KAGAMI_TEST_TOKEN", token)
		s := &stage{}
		err := auth.FromEnv("KAGAMI_TEST_TOKEN", v, s).Serve(t.Context(), nil)
		switch {
		case want == "" && (err != nil || s.who == nil || s.who.Subject != "alice"):
			t.Errorf("%v, %+v", err, s.who)
		case want != "" && (err == nil || err.Error() != want || s.who != nil):
			t.Errorf("%q: %v, %+v", token, err, s.who)
		}
	}
}

// TestLocal: who starts the program has the scopes, and nothing else.
func TestLocal(t *testing.T) {
	t.Parallel()
	scopes := []string{"read", "write"}
	s := &stage{}
	carrier := auth.Local(scopes...)(s)
	scopes[1] = "admin" // the caller's slice is not kept
	if err := carrier.Serve(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if !s.who.Has("read") || !s.who.Has("write") || s.who.Has("admin") || s.who.Subject == "" || s.who.Issuer == "" {
		t.Errorf("the principal is %+v", s.who)
	}
	if auth.Local()(&stage{}).Serve(t.Context(), nil) != nil {
		t.Error("without scopes it does not serve")
	}
}

// The error of a verifier that returns no principal does not say that the token has expired.
func TestFromEnvOfNobody(t *testing.T) {
	t.Setenv("KAGAMI_TEST_TOKEN", "key")
	nobody := auth.VerifierFunc(func(context.Context, string) (*transport.Principal, error) { return nil, nil })
	err := auth.FromEnv("KAGAMI_TEST_TOKEN", nobody, &stage{}).Serve(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "returned no principal") {
		t.Errorf("error %v", err)
	}
}

// What is missing is an error of Serve.
func TestFromEnvOfNothing(t *testing.T) {
	t.Setenv("KAGAMI_TEST_TOKEN", "key")
	for name, carrier := range map[string]transport.Transport{
		"no verifier":  auth.FromEnv("KAGAMI_TEST_TOKEN", nil, &stage{}),
		"no transport": auth.FromEnv("KAGAMI_TEST_TOKEN", auth.Static{}, nil),
		"no guard":     auth.Env("KAGAMI_TEST_TOKEN", nil)(&stage{}),
		"nothing":      auth.Local("a")(nil),
	} {
		if err := carrier.Serve(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "has no ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A principal that expires while its token is kept is refused from then on.
func TestExpiryOfStatic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := auth.Bearer(auth.Static{"key": {Subject: "alice", Expires: time.Now().Add(time.Minute)}})
		if _, err := a.Authenticate(t.Context(), bearer("key")); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if _, err := a.Authenticate(t.Context(), bearer("key")); err == nil {
			t.Error("an expired key")
		}
	})
}
