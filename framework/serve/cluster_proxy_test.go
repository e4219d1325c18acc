//go:build unix

package serve_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// balancer is a reverse proxy before nodes. It picks a node at random for each POST and each
// connection, so an answer rarely reaches the node that asked.
type balancer struct {
	url   string
	nodes []*backend
	cut   atomic.Int64 // mean number of bytes after which a stream breaks; 0: never

	mu      sync.Mutex // guards all below
	answers int        // to questions of a node that serves
	crossed int        // those that went to another one
	cuts    int
	retried int // requests that no node had read, and that another node got
	broken  []string
}

// backend is a node behind the balancer.
type backend struct {
	name   string
	target *url.URL
	posts  atomic.Int64
}

// answered is the node that asked, in what answers it.
var answered = regexp.MustCompile(`"from-([a-z0-9]+)"`)

// balance serves the nodes, by their names, on one address.
func balance(t testing.TB, addrs map[string]string) *balancer {
	t.Helper()
	b := &balancer{}
	for name, addr := range addrs {
		b.nodes = append(b.nodes, &backend{name: name, target: &url.URL{Scheme: "http", Host: addr}})
	}
	carrier := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(*httputil.ProxyRequest) {},
		Transport:     trying{b, carrier},
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				b.mu.Lock()
				b.broken = append(b.broken, r.Method+" "+err.Error())
				b.mu.Unlock()
			}
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // it is that value
				panic(p)
			}
		}()
		proxy.ServeHTTP(&cutting{ResponseWriter: w, b: b}, r)
	}))
	server.Config.ErrorLog = nil
	t.Cleanup(server.Close)
	b.url = server.URL + "/mcp"
	return b
}

// trying sends a request to a node, and to another one if the first has not accepted it.
type trying struct {
	b       *balancer
	carrier http.RoundTripper
}

func (c trying) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	to := c.b.pick(r.Method, body)
	resp, err := c.send(r, body, to)
	// The system resets connections that wait to be accepted when the listener closes. Their requests
	// were not read.
	refused := errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) ||
		err == nil && resp.StatusCode == http.StatusServiceUnavailable
	if !refused || len(c.b.nodes) == 1 {
		return resp, err
	}
	if resp != nil {
		_ = resp.Body.Close()
	}
	c.b.mu.Lock()
	c.b.retried++
	c.b.mu.Unlock()
	return c.send(r, body, c.b.other(to))
}

func (c trying) send(r *http.Request, body []byte, to *backend) (*http.Response, error) {
	if r.Method == http.MethodPost {
		to.posts.Add(1)
	}
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host = to.target.Scheme, to.target.Host
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if len(body) == 0 {
		out.Body = http.NoBody
	}
	resp, err := c.carrier.RoundTrip(out)
	if err != nil {
		err = fmt.Errorf("%s at %s: %w", excerpt(body), to.name, err)
	}
	return resp, err
}

func excerpt(body []byte) string {
	const most = 160
	return string(body[:min(len(body), most)])
}

func (b *balancer) other(than *backend) *backend {
	for {
		if n := b.nodes[rand.IntN(len(b.nodes))]; n != than {
			return n
		}
	}
}

// pick is random, but three of four answers do not go where the question came from.
func (b *balancer) pick(method string, body []byte) *backend {
	to := b.nodes[rand.IntN(len(b.nodes))]
	found := answered.FindSubmatch(body)
	if method != http.MethodPost || found == nil {
		return to
	}
	for _, n := range b.nodes {
		if n.name != string(found[1]) {
			continue
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.answers++; b.answers%4 == 0 {
			return n
		}
		b.crossed++
		return b.other(n)
	}
	return to // a worker asked, which serves no clients
}

// spared is the first bytes of a stream: before 2025-11-25 a client cannot come back to
// one of which it has seen no event.
const spared = 512

// cutting breaks streams off.
type cutting struct {
	http.ResponseWriter
	b     *balancer
	left  int64
	armed bool
}

// Unwrap lets the proxy flush.
func (w *cutting) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *cutting) WriteHeader(code int) {
	if mean := w.b.cut.Load(); mean > 0 && strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
		w.armed, w.left = true, spared+rand.Int64N(2*mean)
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *cutting) Write(p []byte) (int, error) {
	if !w.armed || int64(len(p)) < w.left {
		w.left -= int64(len(p))
		return w.ResponseWriter.Write(p)
	}
	_, _ = w.ResponseWriter.Write(p[:w.left-1])
	_ = http.NewResponseController(w.ResponseWriter).Flush()
	w.b.mu.Lock()
	w.b.cuts++
	w.b.mu.Unlock()
	panic(http.ErrAbortHandler)
}
