package transporttest

import (
	"crypto/tls"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

// Settings are what [HTTP] asks of a carrier. The zero value of each is its default.
type Settings struct {
	AllowedOrigins, AllowedHosts []string
	BodyLimit                    int
	ReadTimeout, WriteTimeout    time.Duration
	Grace                        time.Duration
	TLS                          *tls.Config

	// Of servers of their own only.
	Listener net.Listener // in place of the address
	OnListen func(net.Addr)
	NoSSE    bool
	Path     string
}

// Site is a carrier over HTTP that runs.
type Site struct {
	URL string // of Streamable HTTP, with http://127.0.0.1:port or https
	SSE string // of HTTP+SSE

	// Stop ends the carrier as it ends in a program, and returns when nothing of it
	// runs any more. It may be called more than once.
	Stop func()
}

// SiteFunc serves host at once; it registers with t.Cleanup what stops it.
type SiteFunc = func(t testing.TB, host transport.Host, s Settings) Site

// HTTP tests a carrier over HTTP on sockets of 127.0.0.1: [Suite] on both bindings,
// and what the specification and a hostile network ask of a server.
func HTTP(t *testing.T, serve SiteFunc) {
	t.Helper()
	t.Run("StreamableSuite", func(t *testing.T) {
		t.Parallel()
		Suite(t, func(t testing.TB, host transport.Host) transport.Conn {
			return dialStreamable(t, httpClient(t, nil), serve(t, host, Settings{Grace: time.Second}).URL)
		}, Requests, Streams)
	})
	t.Run("SSESuite", func(t *testing.T) {
		t.Parallel()
		Suite(t, func(t testing.TB, host transport.Host) transport.Conn {
			return dialSSE(t, httpClient(t, nil), serve(t, host, Settings{Grace: time.Second}).SSE)
		}, Streams)
	})
	for _, test := range []struct {
		name string
		run  func(t *testing.T, serve SiteFunc)
	}{
		{"Statuses", testStatuses},
		{"CORS", testCORS},
		{"Authentication", testAuthentication},
		{"Sizes", testSizes},
		{"KeepAlive", testKeepAlive},
		{"Pipelined", testPipelined},
		{"HTTP10", testHTTP10},
		{"Expect100", testExpect},
		{"HalfSent", testHalfSent},
		{"SlowSender", testSlowSender},
		{"Stream", testStream},
		{"ClientLeaves", testLeaves},
		{"NeverReads", testNeverReads},
		{"TLS", testTLS},
		{"Shutdown", testShutdown},
		{"SSEPair", testSSEPair},
		{"SSEShutdown", testSSEShutdown},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, serve)
		})
	}
}

// httpClient has connections of its own, which are closed when the test ends.
func httpClient(t testing.TB, cfg *tls.Config) *http.Client {
	t.Helper()
	pool := &http.Transport{TLSClientConfig: cfg, ForceAttemptHTTP2: true}
	t.Cleanup(pool.CloseIdleConnections)
	return &http.Client{Transport: pool}
}
