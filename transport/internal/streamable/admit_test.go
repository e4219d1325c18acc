package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// TestGate: a request for a name that is not listed, or from a page of another origin, is
// refused on every method before anything else is looked at (2025-11-25 basic/transports
// "Security Warning").
func TestGate(t *testing.T) {
	t.Parallel()
	var handled atomic.Int32
	s := newSite(t, &host{plan: modern, handle: func(context.Context, string, func(string) error) (int, string) {
		handled.Add(1)
		return http.StatusOK, `{"a":1}`
	}}, streamable.Config{AllowedHosts: []string{"shop.example"}, AllowedOrigins: []string{"https://app.example"}})
	defer s.stop()
	for _, tt := range []struct {
		host, origin string
		allowed      bool
		more         []string // further fields Origin
	}{
		{host: "localhost:8080", allowed: true},
		{host: "127.0.0.1", allowed: true},
		{host: "[::1]:8080", allowed: true},
		{host: "shop.example", allowed: true},
		{host: "shop.example:443", allowed: true},
		{host: "evil.example"},
		{host: "shop.example.evil.example"},
		{host: "localhost.evil.example"},
		{host: ""},
		{host: ":8080"},
		{host: "[::1"},
		{host: "[::1]evil.example"},
		{host: "shop.example:443:443"},
		{host: "localhost@evil.example"},
		{host: "shop.example", origin: "https://app.example", allowed: true},
		{host: "shop.example", origin: "https://shop.example", allowed: true},
		{host: "shop.example", origin: "https://evil.example"},
		{host: "shop.example", origin: "http://app.example"},
		{host: "shop.example", origin: "https://app.example.evil.example"},
		{host: "shop.example", origin: "null"},
		{host: "localhost:8080", origin: "http://localhost:3000", allowed: true}, // pages of this machine
		{host: "shop.example", origin: "http://localhost:3000", allowed: true},
		{host: "evil.example", origin: "https://app.example"},
		{host: "shop.example", more: []string{""}},
		{host: "shop.example", origin: "https://app.example", more: []string{"https://app.example"}},
		{host: "shop.example", origin: "https://app.example", more: []string{"https://evil.example"}},
		{host: "shop.example", origin: "https://evil.example", more: []string{"https://app.example"}},
	} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete, http.MethodOptions, http.MethodPut} {
			fields := http.Header{"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}}
			if tt.origin != "" {
				fields.Set("Origin", tt.origin)
			}
			for _, origin := range tt.more {
				fields.Add("Origin", origin)
			}
			handled.Store(0)
			visit, reply := s.e.Check(t.Context(), &streamable.Request{Method: method, Host: tt.host, Fields: transport.HeaderFields(fields), RemoteAddr: "192.0.2.1:1"})
			if reply == nil {
				reply = visit.Serve([]byte(`{"jsonrpc":"2.0","id":1,"method":"x"}`))
			}
			if refused := reply.Status == http.StatusForbidden; refused == tt.allowed {
				t.Errorf("%s for %q from %q: %d", method, tt.host, fields["Origin"], reply.Status)
			}
			if want := tt.allowed && method == http.MethodPost; (handled.Load() == 1) != want {
				t.Errorf("%s for %q from %q was handled %d times", method, tt.host, fields["Origin"], handled.Load())
			}
		}
	}
}

// refusing is an authenticator that lets no caller in.
type refusing struct{ err error }

func (r refusing) Authenticate(context.Context, http.Header) (*transport.Principal, error) {
	return nil, r.err
}

// TestRefusedCallers compares what a caller reads who is not let in: only with the challenge does a
// client find the login (2025-06-18 basic/authorization "Authorization Server Location").
func TestRefusedCallers(t *testing.T) {
	t.Parallel()
	const challenge = `Bearer resource_metadata="https://shop.example/x"`
	for name, tt := range map[string]struct {
		err                     error
		status                  int
		challenge, nonce, retry string
	}{
		"no reason":        {nil, 401, "Bearer", "", ""},
		"another error":    {errors.New("secret words"), 401, "Bearer", "", ""},
		"no token":         {&transport.AuthError{Status: 401, Challenge: challenge}, 401, challenge, "", ""},
		"a scope is short": {&transport.AuthError{Status: 403, Challenge: challenge}, 403, challenge, "", ""},
		"without one":      {&transport.AuthError{Status: 401}, 401, "", "", ""},
		"refuses nothing":  {&transport.AuthError{Status: 200}, 401, "Bearer", "", ""},
		"a nonce":          {&transport.AuthError{Status: 401, Challenge: "DPoP", Nonce: "n1"}, 401, "DPoP", "n1", ""},
		"issuer is away":   {&transport.AuthError{Status: 503, Challenge: challenge, Err: errors.New("secret words")}, 503, "", "", "1"},
	} {
		h := &host{plan: modern, auth: refusing{tt.err}, handle: func(context.Context, string, func(string) error) (int, string) {
			return http.StatusOK, `{"a":1}` // a caller was let in
		}}
		e := streamable.New(h, streamable.Config{})
		visit, r := e.Check(t.Context(), &streamable.Request{
			Method: http.MethodPost, Host: "localhost", RemoteAddr: "192.0.2.1:1",
			Fields: transport.HeaderFields(http.Header{"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}}),
		})
		if r == nil {
			r = visit.Serve([]byte(`{"jsonrpc":"2.0","id":1,"method":"x"}`))
		}
		got := []string{field(r.Header, "WWW-Authenticate"), field(r.Header, "DPoP-Nonce"), field(r.Header, "Retry-After")}
		if want := []string{tt.challenge, tt.nonce, tt.retry}; r.Status != tt.status || !slices.Equal(got, want) {
			t.Errorf("%s: %d %q, want %d %q", name, r.Status, got, tt.status, want)
		}
		if strings.Contains(string(r.Body), "secret") {
			t.Errorf("%s: the reason is in the body: %s", name, r.Body)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestRefusedNames checks that another spelling of a name is not logged as a new name. However many
// names other clients invent, a new name is logged within an hour.
func TestRefusedNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &host{plan: modern}
		s := newSite(t, h, streamable.Config{})
		defer s.stop()
		ask := func(hosts ...string) (logged []string) {
			for _, name := range hosts {
				s.e.RefusedHost(name)
			}
			return h.warned.take()
		}
		page := func(origins ...string) (logged []string) {
			for _, name := range origins {
				s.do(http.MethodPost, "x", "Origin: "+name)
			}
			return h.warned.take()
		}
		if got := ask("mcp.example.com", "MCP.example.com:443", "mcp.example.com:8080", "[2001:DB8::1]:80", "[2001:db8::1]", "a/b"); len(got) != 3 ||
			!strings.Contains(got[0], `host name "mcp.example.com": to let it in, add it to AllowedHosts`) || !strings.Contains(got[2], `"a/b"`) {
			t.Errorf("logged %q", got)
		}
		if got := page("https://a.example", "https://A.example", "https://a.example:8443"); len(got) != 2 || !strings.Contains(got[0], "AllowedOrigins") {
			t.Errorf("logged %q", got)
		}
		scan := func() (logged int) {
			for i := range 200 {
				logged += len(ask(fmt.Sprintf("h%d.example", i)))
			}
			return logged
		}
		if n := scan(); n != 61 {
			t.Errorf("%d names of a scanner are logged", n)
		}
		if got := page("https://b.example"); len(got) != 1 {
			t.Errorf("logged %q", got)
		}
		time.Sleep(time.Hour)
		if got := ask("new.example.com"); len(got) != 1 {
			t.Errorf("logged %q", got)
		}
	})
}

// TestAllowedHostIsCopied: the name of an allowed host is kept, and must not be memory of the carrier,
// which the next request overwrites.
func TestAllowedHostIsCopied(t *testing.T) {
	t.Parallel()
	s := newSite(t, &host{plan: modern}, streamable.Config{})
	defer s.stop()
	memory := []byte("localhost")
	if refused := s.e.RefusedHost(unsafe.String(&memory[0], len(memory))); refused != nil {
		t.Fatalf("localhost: %d", refused.Status)
	}
	copy(memory, "evil.host")
	if s.e.RefusedHost("evil.host") == nil {
		t.Error("another host is allowed, because it is in the same memory")
	}
}

// TestCrossOriginFields: only a page of a listed origin may read answers, or a page of this machine if
// LoopbackOrigins is set. A preflight allows only the fields of the protocol, and echoes only tokens.
func TestCrossOriginFields(t *testing.T) {
	t.Parallel()
	const app, local = "https://app.example", "http://localhost:3000"
	for _, loopback := range []bool{false, true} {
		h := &host{plan: modern, handle: func(context.Context, string, func(string) error) (int, string) {
			return http.StatusOK, `{"a":1}`
		}}
		s := newSite(t, h, streamable.Config{AllowedOrigins: []string{app}, LoopbackOrigins: loopback, StreamDelay: time.Minute})
		for origin, reads := range map[string]bool{app: true, local: loopback} {
			want := map[bool]string{true: origin}[reads]
			r := s.do(http.MethodPost, "x", "Origin: "+origin)
			if got := field(r.Header, "Access-Control-Allow-Origin"); r.Status != http.StatusOK || got != want {
				t.Errorf("%s, LoopbackOrigins %v: %d, allows %q", origin, loopback, r.Status, got)
			}
			if got := field(r.Header, "Vary"); reads && got != "Origin" {
				t.Errorf("%s: Vary: %q, so a cache may show the answer to another origin", origin, got)
			}
		}
		r := s.do(http.MethodOptions, "", "Origin: "+app, "Access-Control-Request-Headers: mcp-param-region, X-Other, Mcp-Param-, Mcp-Param-a:b")
		if got := field(r.Header, "Access-Control-Allow-Headers"); !strings.HasSuffix(got, ", Mcp-Name, mcp-param-region") {
			t.Errorf("a preflight allows %q", got)
		}
		s.stop()
	}
}

// TestContentTypes lists what a POST may say of its body: one media type, JSON in UTF-8. Browsers send
// the others to foreign sites without asking first.
func TestContentTypes(t *testing.T) {
	t.Parallel()
	s := newSite(t, &host{plan: modern, handle: func(context.Context, string, func(string) error) (int, string) {
		return http.StatusOK, `{"a":1}`
	}}, streamable.Config{})
	defer s.stop()
	for _, tt := range []struct {
		types  []string
		coding string
		status int
	}{
		{[]string{"application/json"}, "", 200},
		{[]string{"Application/JSON; Charset=UTF-8"}, "", 200},
		{[]string{"application/json;charset=\"utf-8\""}, "", 200},
		{[]string{"application/json; charset=UTF8"}, "", 200},
		{[]string{"application/json; charset=latin1"}, "", 415},
		{[]string{"application/json; charset=utf-16"}, "", 415},
		{[]string{"application/json; charset"}, "", 415},
		{[]string{"text/plain"}, "", 415},
		{[]string{"application/jsonp"}, "", 415},
		{[]string{""}, "", 415},
		{nil, "", 415},
		{[]string{"application/json", "application/json"}, "", 415},
		{[]string{"application/json", "text/plain"}, "", 415},
		{[]string{"application/json"}, "gzip", 415},
		{[]string{"application/json"}, "identity, br", 415},
		{[]string{"application/json"}, "Identity", 200}, // some proxies send it
	} {
		fields := http.Header{"Accept": {"application/json, text/event-stream"}, "Content-Type": tt.types}
		if tt.coding != "" {
			fields.Set("Content-Encoding", tt.coding)
		}
		visit, r := s.e.Check(t.Context(), &streamable.Request{
			Method: http.MethodPost, Host: "localhost", RemoteAddr: "192.0.2.1:1", Fields: transport.HeaderFields(fields),
		})
		if r == nil {
			r = visit.Serve([]byte(`{"jsonrpc":"2.0","id":1,"method":"x"}`))
		}
		if r.Status != tt.status {
			t.Errorf("%q %s: %d, want %d", tt.types, tt.coding, r.Status, tt.status)
		}
	}
}
