package transporttest

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

// ServerFunc returns a transport that is a server of its own. The endpoint is at /mcp, or at Path,
// and HTTP+SSE is at /sse and /messages.
type ServerFunc = func(addr string, s Settings) transport.Transport

// HTTPServer runs [HTTP] for a transport that is a server of its own, and tests the server's
// additional behavior.
func HTTPServer(t *testing.T, server ServerFunc) {
	t.Helper()
	serve := func(t testing.TB, host transport.Host, s Settings) Site {
		t.Helper()
		var config net.ListenConfig
		l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s.Listener = l
		return site(l.Addr(), s.TLS, run(t, host, server("", s)))
	}
	HTTP(t, serve)
	for name, test := range map[string]func(t *testing.T){
		"Addresses": func(t *testing.T) { testAddresses(t, server) },
		"Health":    func(t *testing.T) { testHealth(t, serve) },
		"Paths":     func(t *testing.T) { testPaths(t, serve) },
		"Taken":     func(t *testing.T) { testTakenPaths(t, server) },
		"Stuck":     func(t *testing.T) { testStuck(t, serve) },
		"Late":      func(t *testing.T) { testLate(t, server) },
		"StopsBusy": func(t *testing.T) { testStopsBusy(t, serve) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// run serves until the test ends or stop is called.
func run(t testing.TB, host transport.Host, carrier transport.Transport) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- carrier.Serve(ctx, host) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-served; err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

func site(addr net.Addr, secure *tls.Config, stop func()) Site {
	scheme := "http://"
	if secure != nil {
		scheme = "https://"
	}
	return Site{URL: scheme + addr.String() + "/mcp", SSE: scheme + addr.String() + "/sse", Stop: stop}
}

// testStuck: a handler that ignores the end of its context delays the server only until the host
// abandons it, even if the carrier would wait longer.
func testStuck(t *testing.T, serve SiteFunc) {
	host := newHTTPHost(t)
	site := serve(t, host, Settings{Grace: time.Hour, WriteTimeout: 50 * time.Millisecond})
	release := sync.OnceFunc(func() { close(host.released) })
	t.Cleanup(release) // before the server is stopped
	c := dialRaw(t, site.URL)
	c.send(ask{body: frame(1, "stuck", script{})})
	within(t, "the exchange to begin", host.holding)
	stopped := make(chan struct{})
	go func() { defer close(stopped); site.Stop() }()
	close(host.abandoned)
	within(t, "the end of the server", stopped)
	if n := host.ended.Load(); n > 0 {
		t.Errorf("%d exchanges ended, want none", n)
	}
	release()
	eventually(t, "the handler to end", func() bool { return host.ended.Load() == 1 })
}

// lateListener accepts a connection before it is closed, but returns it only afterwards.
type lateListener struct {
	net.Listener
	accepted, closed chan struct{}
	release          chan struct{} // the connection is returned when this is closed
	close            func() error
}

func newLateListener(t *testing.T) *lateListener {
	t.Helper()
	var config net.ListenConfig
	inner, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &lateListener{Listener: inner, accepted: make(chan struct{}), closed: make(chan struct{}), release: make(chan struct{})}
	l.close = sync.OnceValue(func() error { defer close(l.closed); return inner.Close() })
	return l
}

func (l *lateListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		close(l.accepted) // of one connection
		<-l.release
	}
	return conn, err
}

func (l *lateListener) Close() error { return l.close() }

// testLate: if the server closes its listener while it accepts a connection, it refuses the request
// on that connection. The client then knows that it can send the request elsewhere.
func testLate(t *testing.T, server ServerFunc) {
	l := newLateListener(t)
	stop := run(t, newHTTPHost(t), server("", Settings{Listener: l}))
	c := dialRaw(t, site(l.Addr(), nil, stop).URL)
	within(t, "the connection to be accepted", l.accepted)
	stopped := make(chan struct{})
	go func() { defer close(stopped); stop() }()
	within(t, "the listener to be closed", l.closed)
	time.Sleep(50 * time.Millisecond) // a faulty server would serve the request in this time
	close(l.release)
	c.roundTrip(echoing()).refused(t, 503)
	within(t, "the end of the server", stopped)
}

// testAddresses: a port alone means the loopback address. An address that other machines can reach
// needs AllowedHosts.
func testAddresses(t *testing.T, server ServerFunc) {
	for _, addr := range []string{"0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.com:0"} {
		err := server(addr, Settings{AllowedHosts: []string{""}}).Serve(t.Context(), newHTTPHost(t))
		if err == nil || !strings.Contains(err.Error(), "AllowedHosts") {
			t.Errorf("%s: %v, want an error that says what to add", addr, err)
		}
	}
	if err := server("nonsense", Settings{}).Serve(t.Context(), newHTTPHost(t)); err == nil {
		t.Error("nonsense was listened to")
	}
	bound := make(chan net.Addr, 1)
	hosts := []string{"mcp.example.com"}
	for addr, want := range map[string]bool{":0": true, "localhost:0": true, "0.0.0.0:0": false} {
		s := Settings{OnListen: func(a net.Addr) { bound <- a }, AllowedHosts: hosts}
		stop := run(t, newHTTPHost(t), server(addr, s))
		got := within(t, "the address", bound).(*net.TCPAddr)
		if got.IP.IsLoopback() != want {
			t.Errorf("%s is bound to %s", addr, got)
		}
		stop()
	}
}

// testHealth: load balancers only know addresses, and remove a server that stops. A health check
// keeps no connection open.
func testHealth(t *testing.T, serve SiteFunc) {
	host := newHTTPHost(t)
	site := serve(t, host, Settings{})
	call := func(method, path string) answer {
		return dialRaw(t, site.URL).roundTrip(ask{method: method, path: path, fields: []string{"Host: 10.0.0.1"}})
	}
	get := func(path string) int { return call(http.MethodGet, path).StatusCode }
	if a, b := get("/healthz"), get("/readyz"); a != 200 || b != 200 {
		t.Errorf("healthz %d, readyz %d", a, b)
	}
	if call(http.MethodGet, "/readyz").Close {
		t.Error("a server that is ready closes its connections")
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if a := call(http.MethodPost, path); a.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("POST %s: Allow is %q", path, a.Header.Get("Allow"))
		} else {
			a.refused(t, 405)
		}
	}
	slow := dialRaw(t, site.URL)
	slow.send(ask{body: frame(1, "hold", script{})})
	within(t, "the exchange to begin", host.holding)
	stopped := make(chan struct{})
	go func() { defer close(stopped); site.Stop() }()
	eventually(t, "readyz to say that the server stops", func() bool { return get("/readyz") == 503 })
	if a := call(http.MethodGet, "/healthz"); a.StatusCode != 200 || !a.Close {
		t.Errorf("healthz of a server that stops: %d, close %v", a.StatusCode, a.Close)
	}
	close(host.released)
	within(t, "the carrier to end", stopped)
}

func testPaths(t *testing.T, serve SiteFunc) {
	all := serve(t, newHTTPHost(t), Settings{})
	for _, path := range []string{"/nowhere", "/MCP", "/Healthz"} {
		dialRaw(t, all.URL).roundTrip(ask{path: path}).refused(t, 404)
	}
	dialRaw(t, all.URL).roundTrip(ask{method: "BREW"}).refused(t, 405) // an unknown method is refused like any other
	other := serve(t, newHTTPHost(t), Settings{Path: "/deep/endpoint", NoSSE: true})
	for path, want := range map[string]int{"/deep/endpoint": 200, "/deep/endpoint/": 200, "/deep/endpoint/x": 404, "/mcp": 404, "/sse": 404, "/deep/sse": 404, "/deep/messages": 404} {
		a := dialRaw(t, other.URL).roundTrip(ask{path: path, body: frame(1, "echo", script{})})
		if a.StatusCode != want {
			t.Errorf("%s: %s, want %d", path, a.Status, want)
		}
	}
	for _, path := range []string{"/é", "/%C3%A9", "/%c3%a9"} {
		foreign := serve(t, newHTTPHost(t), Settings{Path: path, NoSSE: true})
		if a := dialRaw(t, foreign.URL).roundTrip(ask{path: "/%C3%A9", body: frame(1, "echo", script{})}); a.StatusCode != 200 {
			t.Errorf("/%%C3%%A9 of an endpoint at %s: %s", path, a.Status)
		}
	}
	literal := serve(t, newHTTPHost(t), Settings{Path: "/v1/shop:mcp*+", NoSSE: true})
	for path, want := range map[string]int{"/v1/shop:mcp*+": 200, "/v1/shop": 404, "/v1/shop:other": 404, "/v1/shopping": 404} {
		a := dialRaw(t, literal.URL).roundTrip(ask{path: path, body: frame(1, "echo", script{})})
		if a.StatusCode != want {
			t.Errorf("%s: %s, want %d: a path is not a pattern", path, a.Status, want)
		}
	}
}

// testTakenPaths: an endpoint at a path that the server uses itself is an error at once.
func testTakenPaths(t *testing.T, server ServerFunc) {
	ended, cancel := context.WithCancel(t.Context())
	cancel() // a server that starts ends at once
	for _, path := range []string{"/sse", "messages", "/deep/sse", "/healthz", "/healthz/", "/readyz", "/.well-known/oauth-protected-resource", "/{id}", "/a b", "/a?b", "/a#b", "//mcp", "/a/../mcp"} {
		if err := server("127.0.0.1:0", Settings{Path: path}).Serve(ended, newHTTPHost(t)); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("the endpoint at %s: %v", path, err)
		}
	}
	if err := server("127.0.0.1:0", Settings{Path: "/sse", NoSSE: true}).Serve(ended, newHTTPHost(t)); err != nil {
		t.Errorf("the endpoint at /sse without the pair: %v", err)
	}
}
