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

// pipes is a listener without a socket, and without a buffer for bytes that the client does not read.
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

// overPipes runs body for HTTP/1 and for HTTP/2 in a bubble, with a client of the server, whose
// host is the one it gets if it wants that.
func overPipes(t *testing.T, server func(*transporttest.Scripted) *http.Server, body func(*testing.T, *http.Client, *transporttest.Scripted)) {
	t.Helper()
	for name, two := range map[string]bool{"HTTP/1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				protocols := new(http.Protocols)
				protocols.SetHTTP1(!two)
				protocols.SetUnencryptedHTTP2(two)
				l := &pipes{make(chan net.Conn), make(chan struct{})}
				host := transporttest.NewScripted()
				s := server(host)
				s.Protocols = protocols
				go func() { _ = s.Serve(l) }()
				carrier := &http.Transport{Protocols: protocols, DialContext: l.dial}
				body(t, &http.Client{Transport: carrier}, host)
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
	overPipes(t, func(host *transporttest.Scripted) *http.Server {
		return &http.Server{Handler: nethttp.Handler( //nolint:gosec // only the test connects
			host, nethttp.WriteTimeout(timeout), nethttp.BodyLimit(64<<20))}
	}, func(t *testing.T, client *http.Client, _ *transporttest.Scripted) {
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

func (silent) Interrupted() []byte { return nil }

func (silent) Plan() transport.Plan { return transport.Plan{Answered: true, CancelByClose: true} }

func (silent) Serve(ctx context.Context, out transport.Outbound) error {
	select {
	case <-time.After(time.Minute):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return out.Send(ctx, transport.Frame{JSON: []byte(`{"jsonrpc":"2.0","id":1,"result":"late"}`), Final: true})
}

// The timeouts of the program's server do not cut off a call that takes longer, be it that
// nothing was written yet.
func TestServerTimeoutsOfSilence(t *testing.T) {
	t.Parallel()
	overPipes(t, func(*transporttest.Scripted) *http.Server {
		return &http.Server{Handler: nethttp.Handler(silent{}), ReadTimeout: time.Second, WriteTimeout: time.Second}
	}, func(t *testing.T, client *http.Client, _ *transporttest.Scripted) {
		if got := text(t, post(t.Context(), t, client, "http://localhost/", "{}")); !strings.Contains(got, `"result":"late"`) {
			t.Errorf("the answer is %q", got)
		}
	})
}

// Timeouts, of the handler and of the program's server, are of requests and of single writes: a
// stream outlives them. A stream that its client does not read is given up, and the next request is
// served.
func TestTimeoutsOfStreams(t *testing.T) {
	t.Parallel()
	overPipes(t, func(host *transporttest.Scripted) *http.Server {
		h := nethttp.Handler(host, nethttp.ReadTimeout(time.Second), nethttp.WriteTimeout(time.Second))
		return &http.Server{Handler: h, ReadTimeout: time.Second, WriteTimeout: time.Second}
	}, func(t *testing.T, client *http.Client, host *transporttest.Scripted) {
		stream := post(t.Context(), t, client, "http://localhost/", transporttest.Frame("stream", `"y"`))
		if got := chunk(t, stream.Body); !strings.Contains(got, "note") {
			t.Errorf("the stream begins with %q", got)
		}
		time.Sleep(10 * time.Second)
		close(host.Let)
		if got := text(t, stream); !strings.Contains(got, `"result":"y"`) {
			t.Errorf("the stream ends with %q", got)
		}
		flood := post(t.Context(), t, client, "http://localhost/", transporttest.Frame("flood", "1"))
		<-host.Ended
		_ = flood.Body.Close()
		if got := text(t, post(t.Context(), t, client, "http://localhost/", transporttest.Frame("echo", `"x"`))); !strings.Contains(got, `"result":"x"`) {
			t.Errorf("what comes next is answered %q", got)
		}
	})
}

// One URL can be both halves of HTTP+SSE, whose stream outlives the timeouts, too.
func TestSSE(t *testing.T) {
	t.Parallel()
	overPipes(t, func(host *transporttest.Scripted) *http.Server {
		mux := http.NewServeMux()
		mux.Handle("/old/", http.StripPrefix("/old", nethttp.SSE(host, nethttp.ReadTimeout(time.Second))))
		return &http.Server{Handler: mux} //nolint:gosec // only the test connects
	}, func(t *testing.T, client *http.Client, _ *transporttest.Scripted) {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/old/x", nil)
		stream, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = stream.Body.Close() }()
		_, data, _ := strings.Cut(strings.TrimSpace(chunk(t, stream.Body)), "data: ")
		time.Sleep(10 * time.Second)
		target, err := r.URL.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		if taken := post(t.Context(), t, client, target.String(), transporttest.Frame("echo", `"z"`)); taken.StatusCode != 202 {
			t.Errorf("POST %s: %s", target, taken.Status)
		}
		if got := chunk(t, stream.Body); !strings.Contains(got, `"result":"z"`) {
			t.Errorf("the answer is %q", got)
		}
		if other := post(t.Context(), t, client, "http://localhost/old/x", "{}"); other.StatusCode != 404 {
			t.Errorf("a POST without session: %s", other.Status)
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
	to *gzip.Writer
}

func (s squeezing) Write(p []byte) (int, error) { return s.to.Write(p) }

func (s squeezing) FlushError() error {
	return errors.Join(s.to.Flush(), http.NewResponseController(s.ResponseWriter).Flush())
}

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
