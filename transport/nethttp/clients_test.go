package nethttp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// newcomer sends an initialize from an address, and returns the status and the session.
func newcomer(t *testing.T, h http.Handler, from string, header ...string) (status int, session string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`))
	r.RemoteAddr = from
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Header().Get("Mcp-Session-Id")
}

// says sends a frame in a session.
func says(t *testing.T, h http.Handler, session, frame string) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(frame))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Session-Id", session)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

func sharing(t *testing.T, opts ...nethttp.Option) http.Handler {
	t.Helper()
	server, err := framework.New("test", "1").Build()
	if err != nil {
		t.Fatal(err)
	}
	return nethttp.Handler(server, append(opts, nethttp.MaxSessions(16))...)
}

// TestFullTableTakesNewcomers: sessions that never got further than initialize, and then those that are
// longest idle, give way to newcomers; one client has no more than its share.
func TestFullTableTakesNewcomers(t *testing.T) {
	t.Parallel()
	h := sharing(t)
	const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	_, used := newcomer(t, h, "192.0.2.1:1000")
	if got := says(t, h, used, initialized); got != http.StatusAccepted {
		t.Fatal(got)
	}
	for i := range 15 {
		if status, _ := newcomer(t, h, fmt.Sprintf("198.51.100.%d:1000", i/4)); status != http.StatusOK {
			t.Fatalf("session %d: %d", i, status)
		}
	}
	for i := range 40 {
		if status, _ := newcomer(t, h, fmt.Sprintf("203.0.113.%d:1000", i)); status != http.StatusOK {
			t.Fatalf("newcomer %d: %d", i, status)
		}
	}
	if got := says(t, h, used, ping); got != http.StatusOK {
		t.Errorf("a session in use gave way to ones that were not: %d", got)
	}
	for i := range 40 { // all others are in use as well: now the one that is longest idle gives way
		status, s := newcomer(t, h, fmt.Sprintf("192.0.2.%d:1000", 10+i))
		for range 1000 { // a session is in use for a moment after its notification was accepted
			if status == http.StatusOK {
				break
			}
			time.Sleep(time.Millisecond)
			status, s = newcomer(t, h, fmt.Sprintf("192.0.2.%d:1000", 10+i))
		}
		if status != http.StatusOK {
			t.Fatalf("client %d: %d", i, status)
		}
		says(t, h, s, initialized)
	}
	if got := says(t, h, used, ping); got != http.StatusNotFound {
		t.Errorf("the session that is longest idle is still there: %d", got)
	}
}

// TestFullTableKeepsWhoCalls: a session that has called a moment ago stays, and the one that is longest
// idle gives way.
func TestFullTableKeepsWhoCalls(t *testing.T) {
	t.Parallel()
	h := sharing(t)
	opened := func(from string) string {
		status, session := newcomer(t, h, from)
		if got := says(t, h, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); status != http.StatusOK || got != http.StatusAccepted {
			t.Fatalf("opening a session from %s: %d, %d", from, status, got)
		}
		time.Sleep(300 * time.Millisecond) // the session is in use for a moment after its notification was accepted
		return session
	}
	const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	var sessions []string
	for i := range 17 { // the last one displaces the first
		sessions = append(sessions, opened(fmt.Sprintf("192.0.2.%d:1000", i+1)))
	}
	if got := says(t, h, sessions[1], ping); got != http.StatusOK {
		t.Fatal(got)
	}
	time.Sleep(50 * time.Millisecond)
	opened("203.0.113.1:1000")
	for i, want := range []int{http.StatusNotFound, http.StatusOK, http.StatusNotFound, http.StatusOK} {
		if got := says(t, h, sessions[i], ping); got != want {
			t.Errorf("session %d: %d, want %d", i, got, want)
		}
	}
}

// TestWhoAClientIs checks that the limit of a client counts by its network, by the address that a
// trusted proxy reports, or by the key that the program gives it.
func TestWhoAClientIs(t *testing.T) {
	t.Parallel()
	proxied := nethttp.TrustedProxies("X-Forwarded-For", netip.MustParsePrefix("10.0.0.0/8"))
	keyed := nethttp.ClientKey(func(_ string, f transport.Fields) string { v, _ := f.Value("X-Tenant"); return v })
	for name, c := range map[string]struct {
		opts []nethttp.Option
		one  func(i int) (from string, header []string) // of one client
	}{
		"address": {nil, func(i int) (string, []string) { return fmt.Sprintf("192.0.2.7:%d", 1000+i), nil }},
		"IPv6":    {nil, func(i int) (string, []string) { return fmt.Sprintf("[2001:db8::%x]:1000", i+1), nil }},
		"behind a proxy": {[]nethttp.Option{proxied}, func(i int) (string, []string) {
			return fmt.Sprintf("10.0.0.%d:1000", i), []string{"X-Forwarded-For", fmt.Sprintf("1.2.3.%d, 192.0.2.7, 10.9.9.9", i)}
		}},
		"behind an untrusted proxy": {[]nethttp.Option{proxied}, func(i int) (string, []string) {
			return "192.0.2.7:1000", []string{"X-Forwarded-For", fmt.Sprintf("1.2.3.%d", i)}
		}},
		"by a key": {[]nethttp.Option{keyed}, func(i int) (string, []string) {
			return fmt.Sprintf("198.51.100.%d:1000", i), []string{"X-Tenant", "a"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := sharing(t, c.opts...)
			admitted := 0
			for i := range 12 {
				from, header := c.one(i)
				if status, _ := newcomer(t, h, from, header...); status == http.StatusOK {
					admitted++
				}
			}
			if admitted != 4 {
				t.Errorf("one client opened %d sessions, want its share of 4", admitted)
			}
		})
	}
	h := sharing(t, proxied) // many clients behind one proxy are not one
	for i := range 12 {
		if status, _ := newcomer(t, h, "10.0.0.1:1000", "X-Forwarded-For", fmt.Sprintf("192.0.2.%d", i)); status != http.StatusOK {
			t.Errorf("client %d behind the proxy: %d", i, status)
		}
	}
	for _, wrong := range []nethttp.Option{
		nethttp.TrustedProxies("", netip.MustParsePrefix("10.0.0.0/8")), nethttp.TrustedProxies("X-Forwarded-For"),
		nethttp.TrustedProxies("X Forwarded", netip.MustParsePrefix("10.0.0.0/8")), nethttp.TrustedProxies("X-Forwarded-For", netip.Prefix{}),
		nethttp.TrustedProxies("Forwarded", netip.MustParsePrefix("10.0.0.0/8")), nethttp.TrustedProxies("X-Forwarded-For", netip.MustParsePrefix("::ffff:10.0.0.0/104")),
	} {
		if err := nethttp.New("127.0.0.1:0", wrong).Serve(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "TrustedProxies") {
			t.Errorf("a wrong option: %v", err)
		}
	}
}

// TestLinkLocalProxy: a proxy with a zone in its address is trusted, too.
func TestLinkLocalProxy(t *testing.T) {
	t.Parallel()
	h := sharing(t, nethttp.TrustedProxies("X-Forwarded-For", netip.MustParsePrefix("fe80::/10")))
	for i := range 12 { // one client has a share of 4
		if status, _ := newcomer(t, h, "[fe80::1%eth0]:1000", "X-Forwarded-For", fmt.Sprintf("192.0.2.%d", i)); status != http.StatusOK {
			t.Fatalf("client %d: %d", i, status)
		}
	}
}
