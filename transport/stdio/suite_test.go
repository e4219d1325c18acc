package stdio_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/testkit/transporttest"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) pipe{
		"io.Pipe": ioPipe, "os.Pipe": osPipe, "net.Pipe": netPipe,
	} {
		for how, opts := range map[string][]stdio.Option{"": nil, " inline": {stdio.Inline()}} {
			t.Run(name+how, func(t *testing.T) {
				t.Parallel()
				transporttest.Suite(t, func(t testing.TB, host transport.Host) transport.Conn {
					return serve(t, open(t), host, opts...)
				})
			})
		}
	}
}

// serve runs a server on one end of p and returns the other. The output of the server is closed
// when the server ends, as if it were a process.
func serve(t testing.TB, p pipe, host transport.Host, opts ...stdio.Option) transport.Conn {
	served := make(chan error, 1)
	go func() {
		defer p.closeServer()
		served <- stdio.New(append(slices.Clip(opts),
			stdio.Streams(p.serverIn, p.serverOut),
			stdio.Grace(20*time.Millisecond),
		)...).Serve(t.Context(), host)
	}()
	t.Cleanup(func() {
		if err := <-served; err != nil && !errors.Is(err, transporttest.ErrRefused) {
			t.Errorf("Serve: %v", err)
		}
	})
	return stdio.NewConn(p.clientIn, p.clientOut, func() error {
		return errors.Join(p.clientOut.(io.Closer).Close(), p.clientIn.(io.Closer).Close())
	})
}

// TestStop tests the end of ctx, on a connection and on a Unix socket.
func TestStop(t *testing.T) {
	t.Parallel()
	t.Run("net.Pipe", func(t *testing.T) {
		t.Parallel()
		transporttest.Stop(t, func(t testing.TB) (transport.Transport, func(context.Context) (transport.Conn, error)) {
			p := netPipe(t)
			return stdio.New(stdio.Streams(p.serverIn, p.serverOut)), func(context.Context) (transport.Conn, error) {
				return stdio.NewConn(p.clientIn, p.clientOut, p.clientOut.(io.Closer).Close), nil
			}
		})
	})
	t.Run("unix", func(t *testing.T) {
		t.Parallel()
		transporttest.Stop(t, func(t testing.TB) (transport.Transport, func(context.Context) (transport.Conn, error)) {
			listener := listenUnix(t)
			return UnixTransport{Listener: listener}, func(ctx context.Context) (transport.Conn, error) {
				return DialUnix(ctx, listener.Addr().String())
			}
		})
	})
}

// listenUnix listens on a new socket.
func listenUnix(t testing.TB) net.Listener {
	t.Helper()
	// Not t.TempDir: the name of a socket may have no more than about 100 bytes.
	dir, err := os.MkdirTemp("", "kagami") //nolint:usetesting // its names are too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// fullListener is a listener that accepts one connection, and then fails until it is closed.
type fullListener struct {
	net.Listener
	accepted bool
	closed   chan struct{}
}

var errFiles = errors.New("too many open files")

func (f *fullListener) Accept() (net.Conn, error) {
	if f.accepted {
		return nil, errFiles
	}
	f.accepted = true
	return f.Listener.Accept()
}

func (f *fullListener) Close() error {
	close(f.closed)
	return f.Listener.Close()
}

// TestUnixAcceptFails: the error of Accept must not wait for the clients that are connected.
func TestUnixAcceptFails(t *testing.T) {
	t.Parallel()
	listener := &fullListener{Listener: listenUnix(t), closed: make(chan struct{})}
	conn, err := DialUnix(t.Context(), listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- UnixTransport{Listener: listener}.Serve(t.Context(), hostFunc(echo)) }()
	select {
	case err := <-served:
		if !errors.Is(err, errFiles) {
			t.Errorf("Serve: %v, want the error of Accept", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Serve waits for the client")
	}
	if _, err := conn.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("Read: %v, want io.EOF", err)
	}
	<-listener.closed
	_ = conn.Close()
}

func TestSuiteUnixSocket(t *testing.T) {
	t.Parallel()
	transporttest.Suite(t, func(t testing.TB, host transport.Host) transport.Conn {
		listener := listenUnix(t)
		served := make(chan error, 1)
		carrier := UnixTransport{listener, []stdio.Option{
			stdio.Grace(20 * time.Millisecond),
		}}
		go func() { served <- carrier.Serve(t.Context(), host) }()
		t.Cleanup(func() {
			if err := <-served; err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
		conn, err := DialUnix(t.Context(), listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return conn
	})
}
