package testkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
	"github.com/kagami-mcp/kagami/transport/inmem"
	"github.com/kagami-mcp/kagami/transport/nethttp"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

// carrier is a kind of connection between a client and a server.
type carrier struct {
	name   string
	socket bool
	// open opens a line, which lasts until hangUp. ctx has the principal.
	open func(ctx context.Context, server *framework.Server, w *tap) (*line, error)
}

// line is an open carrier, for one client.
type line struct {
	target client.Target
	hangUp func() error // after the client was closed
}

// inMemory returns the default carrier.
func inMemory() carrier {
	return carrier{"inmem", false, func(_ context.Context, server *framework.Server, w *tap) (*line, error) {
		dial := func(ctx context.Context) (transport.Conn, error) {
			return w.conn(leaving{inmem.Dial(ctx, server)}), nil
		}
		return &line{client.Over(dial), func() error { return nil }}, nil
	}}
}

// carriers returns all carriers, those without a socket first.
func carriers() []carrier {
	return []carrier{
		inMemory(),
		{"stdio", false, overPipes},
		{"fiber", false, overFiber},
		{"fiber-socket", true, overSocket},
		{"nethttp", true, overNetHTTP},
	}
}

// lastWords is how long a closing carrier waits for running calls.
const lastWords = 200 * time.Millisecond

// leaving is a connection in memory. If a handler ignores its context, Close waits only for
// lastWords. The shutdown of the server then reports that handler.
type leaving struct{ transport.Conn }

// Close waits for running calls, up to lastWords.
func (l leaving) Close() error {
	closed := make(chan error, 1)
	go func() { closed <- l.Conn.Close() }()
	timer := time.NewTimer(lastWords)
	defer timer.Stop()
	select {
	case err := <-closed:
		return err
	case <-timer.C:
		return nil
	}
}

func overPipes(_ context.Context, server *framework.Server, w *tap) (*line, error) {
	dial := func(ctx context.Context) (transport.Conn, error) {
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		served := make(chan error, 1)
		go func() {
			err := stdio.New(stdio.Streams(w.faults.reader(in), out), stdio.Grace(lastWords)).Serve(ctx, server)
			_ = out.Close() // the client sees the end
			served <- err
		}()
		return w.conn(stdio.NewConn(w.faults.reader(fromServer), toServer, func() error {
			_ = toServer.Close()
			_, _ = io.Copy(io.Discard, fromServer) // so that the server's last frames do not block it
			return <-served
		})), nil
	}
	return &line{client.Over(dial), func() error { return nil }}, nil
}

// overFiber opens Fiber without a socket.
func overFiber(ctx context.Context, server *framework.Server, w *tap) (*line, error) {
	l := newPipes()
	return overHTTP(ctx, server, w, fiberOn, &listener{Listener: l}, "127.0.0.1", l.dial)
}

func overSocket(ctx context.Context, server *framework.Server, w *tap) (*line, error) {
	l, err := loopback(ctx)
	if err != nil {
		return nil, err
	}
	return overHTTP(ctx, server, w, fiberOn, &listener{Listener: l}, l.Addr().String(), nil)
}

func overNetHTTP(ctx context.Context, server *framework.Server, w *tap) (*line, error) {
	l, err := loopback(ctx)
	if err != nil {
		return nil, err
	}
	return overHTTP(ctx, server, w, netHTTPOn, &listener{Listener: l}, l.Addr().String(), nil)
}

func fiberOn(l net.Listener) transport.Transport {
	return fiberhttp.New("", fiberhttp.Listener(l), fiberhttp.Grace(lastWords))
}

func netHTTPOn(l net.Listener) transport.Transport {
	return nethttp.New("", nethttp.Listener(l), nethttp.Grace(lastWords))
}

func loopback(ctx context.Context) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening on the loopback interface: %w", err)
	}
	return l, nil
}

// overHTTP serves until hangUp. A nil dial means the dialer of package net.
func overHTTP(
	ctx context.Context, server *framework.Server, w *tap, on func(net.Listener) transport.Transport, l *listener, addr string,
	dial func(context.Context, string, string) (net.Conn, error),
) (*line, error) {
	conns := &http.Transport{DialContext: w.faults.dial(dial)}
	return &line{
		client.HTTP("http://"+addr+"/mcp", client.HTTPClient(&http.Client{Transport: &web{conns, w, w.faults.roll()}})),
		listen(ctx, server, on(l), l, conns),
	}, nil
}

// listen serves a client with these connections, until hangUp.
func listen(ctx context.Context, server *framework.Server, on transport.Transport, l *listener, conns *http.Transport) (hangUp func() error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	host := &known{server, transport.PrincipalFrom(ctx)}
	served := make(chan error, 1)
	go func() { served <- on.Serve(ctx, host) }()
	return func() error {
		conns.CloseIdleConnections()
		l.settle()
		cancel()
		return <-served
	}
}

// listener counts its open connections, because the Shutdown of a Fiber server polls every tenth of
// a second until no connection is left. accept is held while Accept runs, so that Close can wait
// for it. Accept and the end of a connection change open and idle; mu guards them.
type listener struct {
	net.Listener
	accept sync.Mutex // held while Accept runs

	mu   sync.Mutex // guards all below
	open int
	idle chan struct{} // closed when no connection is open; nil if no goroutine waits for it
}

// Accept counts the connection.
func (l *listener) Accept() (net.Conn, error) {
	l.accept.Lock()
	defer l.accept.Unlock()
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open++
	return &counted{Conn: c, done: sync.OnceFunc(l.closed)}, nil
}

func (l *listener) closed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open--; l.open == 0 && l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
}

// waiting returns a channel that is closed when no connection is open.
func (l *listener) waiting() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	idle := make(chan struct{})
	if l.open == 0 {
		close(idle)
	} else {
		l.idle = idle
	}
	return idle
}

// Close waits until Accept has returned, and gives its caller a moment to notice.
func (l *listener) Close() error {
	err := l.Listener.Close()
	l.accept.Lock()
	l.accept.Unlock() //nolint:staticcheck // only the wait matters
	runtime.Gosched()
	return err
}

// counted is a connection that calls done when it is closed.
type counted struct {
	net.Conn
	done func()
}

// Close closes the connection. It may be called again.
func (c *counted) Close() error {
	defer c.done()
	return c.Conn.Close()
}

// settle waits until the server has closed the connections that the client has closed, up to
// lastWords.
func (l *listener) settle() {
	timer := time.NewTimer(lastWords)
	defer timer.Stop()
	select {
	case <-l.waiting():
	case <-timer.C:
	}
}

// known is a server that authenticates every caller over HTTP as the session's principal, without a
// token. It does not use the app's authenticator.
type known struct {
	*framework.Server
	principal *transport.Principal
}

// Services returns the server's services, with the session's authenticator. A session without a
// principal is anonymous on purpose, so scopes without an authenticator are not an error.
func (k *known) Services() transport.Services {
	s := k.Server.Services()
	s.Authenticator, s.Servable = nil, nil
	if k.principal != nil {
		s.Authenticator = k
	}
	return s
}

// Authenticate returns the session's principal.
func (k *known) Authenticate(context.Context, http.Header) (*transport.Principal, error) {
	if k.principal == nil {
		return nil, errors.New("testkit: the session has no principal")
	}
	return k.principal, nil
}
