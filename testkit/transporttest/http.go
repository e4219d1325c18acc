package transporttest

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

// Settings configure a carrier for [HTTP]. Zero values mean the carrier's defaults.
type Settings struct {
	AllowedOrigins, AllowedHosts []string
	BodyLimit                    int
	ReadTimeout, WriteTimeout    time.Duration
	Grace                        time.Duration
	TLS                          *tls.Config

	// Only for servers of their own.
	Listener net.Listener // replaces the address
	OnListen func(net.Addr)
	NoSSE    bool
	Path     string
}

// Site is a running carrier over HTTP.
type Site struct {
	URL string // of Streamable HTTP, such as http://127.0.0.1:port or https://...
	SSE string // of HTTP+SSE

	// Stop stops the carrier as a program does, and returns when all its goroutines have ended. It
	// may be called more than once.
	Stop func()
}

// SiteFunc serves host at once. It registers its cleanup with t.Cleanup.
type SiteFunc = func(t testing.TB, host transport.Host, s Settings) Site

// HTTP tests a carrier over HTTP on sockets of 127.0.0.1. It runs [Suite] on both bindings, and
// tests what the specification requires and how the server handles hostile clients.
func HTTP(t *testing.T, serve SiteFunc) {
	t.Helper()
	streamable := func(t testing.TB, site Site) transport.Conn { return dialStreamable(t, httpClient(t, nil), site.URL) }
	sse := func(t testing.TB, site Site) transport.Conn { return dialSSE(t, httpClient(t, nil), site.SSE) }
	t.Run("StreamableSuite", func(t *testing.T) {
		t.Parallel()
		testBinding(t, serve, streamable, Requests, Streams)
	})
	t.Run("SSESuite", func(t *testing.T) {
		t.Parallel()
		testBinding(t, serve, sse, Streams)
	})
	for _, test := range []struct {
		name, rule string
		run        func(t *testing.T, serve SiteFunc)
	}{
		{"Statuses", "Each request that is not served is answered with the status that the specification names.", testStatuses},
		{"Names", "Hosts and origins may be written with default ports and in any case; whatever else differs is another.", testNames},
		{"CORS", "Browsers get CORS headers for allowed origins, and for no others.", testCORS},
		{"Authentication", "A request without valid credentials gets 401 and a challenge; a session belongs to its owner alone; after a panic of the authenticator the request is refused.", testAuthentication},
		{"Trailers", "What comes behind the chunks of a body is not a header field (RFC 9110 section 6.5.1).", testTrailers},
		{"Sizes", "A body that is too large is refused, and one that is as large as allowed is not.", testSizes},
		{"KeepAlive", "A connection serves one request after the other.", testKeepAlive},
		{"Pipelined", "Requests that are sent ahead are answered in their order.", testPipelined},
		{"HTTP10", "A client of HTTP/1.0 reads to the end of the connection.", testHTTP10},
		{"Expect100", "A request with Expect: 100-continue is answered before the body.", testExpect},
		{"HalfSent", "A request that does not arrive whole is not served, and does not hold up others.", testHalfSent},
		{"SlowSender", "The connection of a client that sends too slowly is closed.", testSlowSender},
		{"Stream", "Events arrive when they are sent, and the stream ends after the response.", testStream},
		{"ClientLeaves", "A client that leaves ends the exchange that it waits for.", testLeaves},
		{"HalfClosed", "A client that sends nothing more gets its answer, unless its revision takes that for a cancellation.", testHalfClosed},
		{"SentAhead", "What a client sends behind a request that takes long waits for it.", testSentAhead},
		{"NeverReads", "A client that never reads does not hold up others, and is dropped after a while.", testNeverReads},
		{"TLS", "Calls, their streams and their cancellation work over TLS.", testTLS},
		{"Shutdown", "Shutdown ends streams without calls at once, answers accepted requests, refuses new ones with 503, and does not wait for silent clients.", testShutdown},
		{"SSEPair", "On the HTTP+SSE binding a POST is answered on the stream that it belongs to.", testSSEPair},
		{"SSEShutdown", "On the HTTP+SSE binding Shutdown ends streams without calls at once, answers accepted requests, and refuses new ones with 503.", testSSEShutdown},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			told(t, test.rule)
			test.run(t, serve)
		})
	}
}

// testBinding tests one binding of a carrier over HTTP.
func testBinding(t *testing.T, serve SiteFunc, dial func(testing.TB, Site) transport.Conn, traits ...Trait) {
	t.Helper()
	open := func(t testing.TB, host transport.Host) transport.Conn {
		return dial(t, serve(t, host, Settings{Grace: time.Second}))
	}
	Suite(t, open, traits...)
	testPanic(t, setup{open: open, requests: slices.Contains(traits, Requests), streams: true})
	connections(t, func(t testing.TB) *served {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		t.Cleanup(cancel)
		h, over := newHost(), make(chan error, 1)
		site := serve(t, h, Settings{Grace: time.Second})
		return &served{
			t: t, ctx: ctx, host: h, over: over,
			dial: func(context.Context) (transport.Conn, error) { return dial(t, site), nil },
			stop: func() { site.Stop(); over <- nil },
		}
	})
}

// testPanic: a server over HTTP survives a panic of a host that does not recover panics itself.
func testPanic(t *testing.T, s setup) {
	t.Helper()
	t.Run("Panics", func(t *testing.T) {
		t.Parallel()
		told(t, "A panic of the host is answered by an error that does not contain the panic, and ends this exchange only.")
		c := dial(t, s)
		for id, method := range []string{"panic/accept", "panic/serve"} {
			c.send(id+1, method, script{})
			if r := c.result(id + 1); r.Error == nil {
				t.Errorf("%s was answered by %+v, want an error", method, r)
			} else if strings.Contains(string(r.Error), "scripted") {
				t.Errorf("%s: the peer was told of the panic: %s", method, r.Error)
			}
		}
		c.echo(10, "still here")
	})
}

// httpClient returns a client with its own connections, which are closed when the test ends.
func httpClient(t testing.TB, cfg *tls.Config) *http.Client {
	t.Helper()
	pool := &http.Transport{TLSClientConfig: cfg, ForceAttemptHTTP2: true}
	t.Cleanup(pool.CloseIdleConnections)
	return &http.Client{Transport: pool}
}
