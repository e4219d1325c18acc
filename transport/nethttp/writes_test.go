package nethttp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/testkit/transporttest"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/nethttp"
)

// pipes is a listener without a socket, and without a buffer that would take what nobody reads.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	p.conns <- theirs
	return ours, nil
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// overPipes runs body for HTTP/1 and for HTTP/2 in a bubble, with a client of s.
func overPipes(t *testing.T, server func() *http.Server, body func(t *testing.T, client *http.Client)) {
	t.Helper()
	for name, two := range map[string]bool{"HTTP/1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				protocols := new(http.Protocols)
				protocols.SetHTTP1(!two)
				protocols.SetUnencryptedHTTP2(two)
				l := &pipes{make(chan net.Conn), make(chan struct{})}
				s := server()
				s.Protocols = protocols
				go func() { _ = s.Serve(l) }()
				carrier := &http.Transport{Protocols: protocols, DialContext: l.dial}
				body(t, &http.Client{Transport: carrier})
				carrier.CloseIdleConnections()
				_ = s.Close()
				time.Sleep(time.Second) // until those who have nothing to do any more have ended
			})
		})
	}
}

// WriteTimeout is for a client that does not read. One that takes the answer slowly gets all of
// it, however long that takes.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	const timeout = time.Second
	want := strings.Repeat("x", 6<<20)
	overPipes(t, func() *http.Server {
		return &http.Server{Handler: nethttp.Handler( //nolint:gosec // nobody attacks it
			transporttest.NewScripted(), nethttp.WriteTimeout(timeout), nethttp.BodyLimit(64<<20))}
	}, func(t *testing.T, client *http.Client) {
		answer := post(t.Context(), t, client, "http://localhost/", transporttest.Frame("echo", `"`+want+`"`))
		var got bytes.Buffer
		began := time.Now()
		for err := error(nil); err == nil; time.Sleep(timeout / 4) {
			_, err = io.CopyN(&got, answer.Body, 128<<10)
		}
		if !strings.Contains(got.String(), want) || time.Since(began) < 10*timeout {
			t.Errorf("%s: %d bytes of %d in %v", answer.Proto, got.Len(), len(want), time.Since(began))
		}
	})
}

// silent is a host that takes a minute for an answer.
type silent struct{}

func (silent) Accept(context.Context, []byte) (transport.Exchange, error) { return silent{}, nil }

func (silent) Plan() transport.Plan { return transport.Plan{Answered: true, CancelByClose: true} }

func (silent) Serve(ctx context.Context, out transport.Outbound) error {
	select {
	case <-time.After(time.Minute):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return out.Send(transport.Final(ctx, http.StatusOK), []byte(`{"jsonrpc":"2.0","id":1,"result":"late"}`))
}

// The timeouts of the program's server do not cut off a call that takes longer, be it that
// nothing was written yet.
func TestServerTimeoutsOfSilence(t *testing.T) {
	t.Parallel()
	overPipes(t, func() *http.Server {
		return &http.Server{Handler: nethttp.Handler(silent{}), ReadTimeout: time.Second, WriteTimeout: time.Second}
	}, func(t *testing.T, client *http.Client) {
		if got := text(t, post(t.Context(), t, client, "http://localhost/", "{}")); !strings.Contains(got, `"result":"late"`) {
			t.Errorf("the answer is %q", got)
		}
	})
}

// failing is a response whose first Write fails, and reads what it was given all the same later:
// HTTP/2 does, where the stream ends while a frame is being written.
type failing struct {
	http.ResponseWriter
	given [][]byte
}

func (f *failing) Write(p []byte) (int, error) {
	f.given = append(f.given, p)
	return 0, errors.New("the stream is closed")
}

// What is read late must not be of another answer.
func TestFailedWrite(t *testing.T) {
	t.Parallel()
	h := nethttp.Handler(transporttest.NewScripted())
	call := func(w http.ResponseWriter, params string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/", strings.NewReader(transporttest.Frame("echo", params)))
		r.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(w, r)
	}
	first := &failing{ResponseWriter: httptest.NewRecorder()}
	call(first, `"first"`)
	for range 10 {
		call(httptest.NewRecorder(), `"other"`)
	}
	if got := string(bytes.Join(first.given, nil)); !strings.Contains(got, `"result":"first"`) {
		t.Errorf("what the first was given is now %q", got)
	}
}

// squeezing compresses as the usual middleware of a few lines does.
type squeezing struct {
	http.ResponseWriter
	to io.Writer
}

func (s squeezing) Write(p []byte) (int, error) { return s.to.Write(p) }

// Middleware that changes the body makes it another length.
func TestCompressed(t *testing.T) {
	t.Parallel()
	host := transporttest.NewScripted()
	close(host.Let)
	h := nethttp.Handler(host)
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		to := gzip.NewWriter(w)
		h.ServeHTTP(squeezing{w, to}, r)
		_ = to.Close()
	}), func(*httptest.Server) {})
	for _, method := range []string{"echo", "stream"} {
		if got := text(t, post(t.Context(), t, s.Client(), s.URL, transporttest.Frame(method, `"y"`))); !strings.Contains(got, `"result":"y"`) {
			t.Errorf("%s: the answer is %q", method, got)
		}
	}
}
