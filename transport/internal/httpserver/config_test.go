package httpserver_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

func TestBeside(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"": "/sse", "/mcp": "/sse", "mcp": "/sse", "/": "/sse", "/a/mcp": "/a/sse", "/a/": "/a/sse"} {
		c := httpserver.Config{Path: path}.WithDefaults("/mcp")
		if got := c.Beside(httpserver.SSE); got != want {
			t.Errorf("beside %q: %q, want %q", path, got, want)
		}
	}
}

// TestFaults checks that mistakes in the configuration are reported before the first request.
func TestFaults(t *testing.T) {
	t.Parallel()
	type config = streamable.Config
	for want, c := range map[string]httpserver.Config{
		"TLS":                                  {TLS: &tls.Config{}}, //nolint:gosec // no client connects
		`"*" is not an origin`:                 {Config: config{AllowedOrigins: []string{"https://a.example", "*"}}},
		`"a.example" is not an origin`:         {Config: config{AllowedOrigins: []string{"a.example"}}},
		`"https://*.example" is not an origin`: {Config: config{AllowedOrigins: []string{"https://*.example"}}},
		`"https://a.example/b" is no`:          {Config: config{AllowedOrigins: []string{"https://a.example/b"}}},
		`"https://a.example" is not a host`:    {Config: config{AllowedHosts: []string{"https://a.example"}}},
		`"https://bücher.example" is never`:    {Config: config{AllowedOrigins: []string{"https://bücher.example"}}},
		`"bücher.example" is never`:            {Config: config{AllowedHosts: []string{"bücher.example"}}},
		`"*.example" is not a host`:            {Config: config{AllowedHosts: []string{"*.example"}}},
	} {
		c.OnListen = func(net.Addr) { t.Errorf("%s: it listens", want) }
		c = c.WithDefaults("/mcp")
		err := c.Serve(t.Context(), ":0", host{}, func(*httpserver.Endpoints, <-chan struct{}) httpserver.Server { return failing{} })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Serve: %v, want one of %s", err, want)
		}
	}
}

type host struct{}

func (host) Accept(context.Context, []byte) (transport.Exchange, error) { return nil, nil }

var errFailed = errors.New("broken")

// warnings is a host that keeps its warnings.
type warnings []string

func (*warnings) Accept(context.Context, []byte) (transport.Exchange, error) { return nil, nil }

func (w *warnings) Services() transport.Services {
	return transport.Services{Warn: func(text string) { *w = append(*w, text) }}
}

type failing struct{}

func (failing) Serve(net.Listener) error       { return errFailed }
func (failing) Shutdown(context.Context) error { return nil }

// ending returns without an error, like fasthttp after other code has closed the listener.
type ending struct{ failing }

func (ending) Serve(net.Listener) error { return nil }

// A listener that fails ends the server at once, and is its error.
func TestRunFails(t *testing.T) {
	t.Parallel()
	for want, server := range map[error]httpserver.Server{errFailed: failing{}, net.ErrClosed: ending{}} {
		var config net.ListenConfig
		l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c := httpserver.Config{Listener: l}.WithDefaults("/mcp")
		err = c.Serve(t.Context(), "", host{}, func(*httpserver.Endpoints, <-chan struct{}) httpserver.Server { return server })
		if !errors.Is(err, want) {
			t.Errorf("Serve: %v, want %v", err, want)
		}
		if _, err := l.Accept(); err == nil {
			t.Error("the listener is open still")
		}
	}
}

// Who reads slowly is served; who does not read for the timeout is given up.
func TestWrite(t *testing.T) {
	t.Parallel()
	for _, pause := range []time.Duration{time.Second, 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			a, b := net.Pipe()
			got := make(chan int, 1)
			go func() {
				total := 0
				for buf := make([]byte, 256<<10); ; time.Sleep(pause) {
					n, err := b.Read(buf)
					if total += n; err != nil {
						got <- total
						return
					}
				}
			}()
			payload := bytes.Repeat([]byte("x"), 1<<20)
			n, err := httpserver.Write(a, payload, 2*time.Second)
			_ = a.Close()
			if whole := pause < 2*time.Second; (err == nil) != whole || (n == len(payload)) != whole {
				t.Errorf("a client that pauses for %s: %d bytes, %v", pause, n, err)
			}
			<-got
		})
	}
}

type accepting struct{ failing }

// Serve takes one connection, and gives up as fasthttp does.
func (accepting) Serve(l net.Listener) error {
	_, err := l.Accept()
	return err
}

// exhausted fails with err, twice, and then for good.
type exhausted struct {
	net.Listener
	err   error
	calls int
}

func (*exhausted) Addr() net.Addr { return &net.TCPAddr{} }
func (*exhausted) Close() error   { return nil }

func (l *exhausted) Accept() (net.Conn, error) {
	if l.calls++; l.calls < 3 {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept", l.err)}
	}
	return nil, net.ErrClosed
}

func TestAcceptOutlivesWant(t *testing.T) {
	t.Parallel()
	for _, errno := range append(httpserver.Shortages(), httpserver.ErrAborted) {
		l := &exhausted{err: errno}
		c := httpserver.Config{Listener: l}.WithDefaults("/mcp")
		var warned warnings
		err := c.Serve(t.Context(), "", &warned, func(*httpserver.Endpoints, <-chan struct{}) httpserver.Server { return accepting{} })
		if !errors.Is(err, net.ErrClosed) || l.calls != 3 {
			t.Errorf("%v: %v after %d calls", errno, err, l.calls)
		}
		if errno == httpserver.ErrAborted {
			if len(warned) != 0 {
				t.Errorf("%v: warned of %q", errno, warned)
			}
			continue
		}
		if len(warned) != 1 || !strings.Contains(warned[0], errno.Error()) || !strings.Contains(warned[0], "fewer connections") {
			t.Errorf("%v: warned of %q", errno, warned)
		}
	}
}

// TestShortagesOfTheSystem checks that the list has the numbers that this system returns.
func TestShortagesOfTheSystem(t *testing.T) {
	t.Parallel()
	want := []syscall.Errno{syscall.EMFILE, syscall.ENOBUFS}
	if runtime.GOOS == "windows" {
		want = []syscall.Errno{10024, 10055} // WSAEMFILE, WSAENOBUFS
	}
	for _, errno := range want {
		if !slices.Contains(httpserver.Shortages(), errno) {
			t.Errorf("%d (%v) is not among them", errno, errno)
		}
	}
}
