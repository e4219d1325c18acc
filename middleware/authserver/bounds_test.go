package authserver_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/middleware/authserver"
)

// local returns a server without a network, for tests with synctest.
func local(t *testing.T, mode authserver.Mode, opts ...authserver.Option) (issuer string, h http.Handler) {
	t.Helper()
	issuer = "http://localhost:1"
	s, err := authserver.New(issuer, mode, append([]authserver.Option{noteScopes(), authserver.Resource(issuer + "/mcp")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return issuer, s.Handler()
}

// A cookie identifies its user for twelve hours, even in a browser that is never closed, and only while
// there is such a user.
func TestLogin_Ends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		list := []authserver.User{ann()}
		users := authserver.DevLogin(list...)
		_, h := local(t, authserver.Own(users))
		back := "/consent?visit=A"
		page := httptest.NewRecorder()
		h.ServeHTTP(page, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost:1/login?back="+back, nil))
		form := (&answer{body: page.Body.String()}).fields()
		form.Set("name", "ann")
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost:1/login", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		for _, c := range page.Result().Cookies() {
			r.AddCookie(c)
		}
		in := httptest.NewRecorder()
		h.ServeHTTP(in, r)
		next := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost:1"+back, nil)
		for _, c := range in.Result().Cookies() {
			next.AddCookie(c)
		}
		time.Sleep(12 * time.Hour)
		if u, err := users.Current(t.Context(), next); err != nil || u.Subject != "ann" {
			t.Errorf("after twelve hours: %v, %v", u, err)
		}
		list[0].Subject = "someone else"
		if u, err := users.Current(t.Context(), next); !errors.Is(err, authserver.ErrNobody) { // and the login page is shown
			t.Errorf("the user is gone: %v, %v", u, err)
		}
		list[0] = ann()
		time.Sleep(time.Minute)
		if u, err := users.Current(t.Context(), next); !errors.Is(err, authserver.ErrNobody) {
			t.Errorf("a minute later: %v, %v", u, err)
		}
	})
}

// A name or password that is too long for the hash is refused before the check.
func TestLogin_LongPassword(t *testing.T) {
	t.Parallel()
	tries := 0
	lookup := func(_ context.Context, subject string) (*authserver.User, error) {
		return &authserver.User{Subject: subject}, nil
	}
	s := open(t, authserver.Own(authserver.Passwords(func(ctx context.Context, name, _ string) (*authserver.User, error) {
		tries++
		return lookup(ctx, name)
	}, lookup)))
	b := s.browser()
	form := b.do(http.MethodGet, s.ask(s.register(plainClient)), nil).fields()
	long := strings.Repeat("x", 1<<10)
	for _, tt := range []struct {
		name, password string
		status, tries  int
	}{
		{"ann", long + "x", http.StatusForbidden, 0},
		{long + "x", "right", http.StatusForbidden, 0},
		{"ann", long, http.StatusSeeOther, 1},
	} {
		form.Set("name", tt.name)
		form.Set("password", tt.password)
		if a := b.do(http.MethodPost, s.issuer+"/login", form, "Sec-Fetch-Site", "same-origin"); a.status != tt.status || tries != tt.tries {
			t.Errorf("%d and %d bytes: %d after %d checks", len(tt.name), len(tt.password), a.status, tries)
		}
	}
}

// An IPv4 address is one client. For IPv6 a whole network is one client, because a client can use
// all of its addresses.
func TestLimit_Networks(t *testing.T) {
	t.Parallel()
	var last authserver.Event
	_, h := local(t, authserver.Own(authserver.DevLogin(ann())), authserver.Limit(1, 0, 0, nil),
		authserver.OnEvent(func(_ context.Context, e authserver.Event) { last = e }))
	for _, tt := range []struct {
		from, remote string
		status       int
	}{
		{"192.0.2.1:5", "192.0.2.1", http.StatusCreated},
		{"192.0.2.2:5", "192.0.2.2", http.StatusCreated},
		{"[::ffff:192.0.2.3]:5", "::ffff:192.0.2.3", http.StatusCreated},
		{"[::ffff:192.0.2.4]:5", "::ffff:192.0.2.4", http.StatusCreated},
		{"[2001:db8::1]:1", "2001:db8::/64", http.StatusCreated},
		{"[2001:db8::ffff:2]:9", "2001:db8::/64", http.StatusTooManyRequests},
		{"[2001:db8:0:1::1]:1", "2001:db8:0:1::/64", http.StatusCreated},
		{"[fe80::1%eth0]:1", "fe80::/64", http.StatusCreated},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/register", strings.NewReader(plainClient))
		r.Header.Set("Content-Type", "application/json")
		r.RemoteAddr = tt.from
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != tt.status || w.Code == http.StatusCreated && last.Remote != tt.remote {
			t.Errorf("%s is %s: %d %s", tt.from, last.Remote, w.Code, w.Body)
		}
	}
}

// An address that the program's own function returns is counted in the same way.
func TestLimit_NetworksBehindAProxy(t *testing.T) {
	t.Parallel()
	_, h := local(t, authserver.Own(authserver.DevLogin(ann())),
		authserver.Limit(1, 0, 0, func(r *http.Request) string { return r.Header.Get("X-Real-Ip") }))
	for _, tt := range []struct {
		client string
		status int
	}{
		{"2001:db8::1", http.StatusCreated},
		{"2001:db8::ffff:2", http.StatusTooManyRequests},
		{"2001:db8:0:1::1", http.StatusCreated},
		{"192.0.2.1", http.StatusCreated},
		{"192.0.2.2", http.StatusCreated},
		{"a name", http.StatusCreated},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/register", strings.NewReader(plainClient))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Real-Ip", tt.client)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != tt.status {
			t.Errorf("%s: %d %s", tt.client, w.Code, w.Body)
		}
	}
}

// An assertion that has just expired is still accepted, because clocks differ. It is accepted only
// once.
func TestAssertion_OnceAtItsEnd(t *testing.T) {
	t.Parallel()
	key, opts := robots(t)
	synctest.Test(t, func(t *testing.T) {
		issuer, h := local(t, authserver.Own(noUsers{}), opts...)
		form := asserting(t, issuer, "robot", key)
		time.Sleep(75 * time.Second) // it was valid for 60
		for _, want := range []string{`"access_token"`, `"invalid_client"`} {
			if got := served(t, h, "/token", form); !strings.Contains(got, want) {
				t.Errorf("%s is not in %s", want, got)
			}
		}
	})
}

// Pages of any origin may use the endpoints that read no cookie. They may not use other endpoints.
func TestCORS(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	b := s.browser()
	const page = "https://app.example.com"
	asked := b.do(http.MethodOptions, s.issuer+"/token", nil, "Origin", page, "Access-Control-Request-Method", http.MethodPost).header
	answers := map[string]http.Header{
		"asked":    asked,
		"metadata": b.do(http.MethodGet, s.issuer+"/.well-known/oauth-authorization-server", nil, "Origin", page).header,
		"refusal":  s.post("/token", "grant_type=x", "Origin", page).header,
	}
	for name, h := range answers {
		if h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %v", name, h)
		}
		for _, field := range []string{"DPoP-Nonce", "Retry-After", "WWW-Authenticate"} {
			if name != "asked" && (!strings.Contains(h.Get("Access-Control-Expose-Headers"), field) || h.Get("X-Content-Type-Options") != "nosniff") {
				t.Errorf("%s may not be read of %s: %v", field, name, h)
			}
		}
	}
	if allowed := asked.Get("Access-Control-Allow-Methods"); !strings.Contains(allowed, http.MethodGet) || !strings.Contains(allowed, http.MethodPost) {
		t.Errorf("methods %q", allowed)
	}
	for _, field := range []string{"Authorization", "Content-Type", "DPoP", "MCP-Protocol-Version"} {
		if !strings.Contains(asked.Get("Access-Control-Allow-Headers"), field) {
			t.Errorf("%s may not be sent: %q", field, asked.Get("Access-Control-Allow-Headers"))
		}
	}
	if a := b.do(http.MethodGet, s.ask(s.register(plainClient)), nil, "Origin", page); a.status != http.StatusOK || a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("the page of a login: %d %v", a.status, a.header)
	}
}
