package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/testkit/transporttest"
	"github.com/kagami-mcp/kagami/transport"
)

// Framed serves connections. Each frame follows its length, which has four bytes. If the server has an
// authenticator, the first frame is the client's token.
type Framed struct{ Listener net.Listener }

// Serve accepts connections until ctx ends. Calls may then go on for the grace period.
func (f Framed) Serve(ctx context.Context, host transport.Host) error {
	var offered transport.Services
	if server, ok := host.(transport.Server); ok {
		offered = server.Services()
	}
	if offered.Servable != nil {
		if err := offered.Servable(); err != nil {
			return err
		}
	}
	var conns sync.WaitGroup
	defer conns.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	context.AfterFunc(ctx, func() { _ = f.Listener.Close() })
	for {
		conn, err := f.Listener.Accept()
		if ctx.Err() != nil && errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accepting a connection: %w", err)
		}
		conns.Go(func() {
			c := &framedConn{Conn: conn, host: host, offered: offered}
			c.serve(ctx)
		})
	}
}

// framedConn is a connection, and its Outbound.
type framedConn struct {
	net.Conn
	host    transport.Host
	offered transport.Services
	mu      sync.Mutex // held while a frame is written
}

// serve runs the connection. ctx is the context of the carrier's Serve.
func (c *framedConn) serve(ctx context.Context) {
	defer func() { _ = c.Close() }()
	defer context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })()
	who, err := c.principal(ctx)
	if err != nil {
		return
	}
	conn, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	context.AfterFunc(conn, func() { _ = c.Close() })
	if who != nil && !who.Expires.IsZero() {
		defer time.AfterFunc(time.Until(who.Expires), func() { cancel(errors.New("the token has expired")) }).Stop()
	}
	conn = transport.Connect(conn, transport.Peer{Carrier: "framed", RemoteAddr: c.RemoteAddr().String(), Principal: who, Out: c})
	var calls sync.WaitGroup
	refused, err := c.read(conn, &calls)
	switch {
	case ctx.Err() != nil:
		defer time.AfterFunc(c.offered.Grace, func() { cancel(errors.New("the grace period is over")) }).Stop()
	case !refused: // the client is gone
		cancel(err)
	}
	calls.Wait()
	cancel(err)
}

// principal returns the caller. It is nil if the server has no authenticator.
func (c *framedConn) principal(ctx context.Context) (*transport.Principal, error) {
	if c.offered.Authenticator == nil {
		return nil, nil // the caller is unknown
	}
	late := time.AfterFunc(10*time.Second, func() { _ = c.Close() }) // a stranger must not hold a connection
	defer late.Stop()
	token, err := readFramed(c, 8<<10)
	if err != nil {
		return nil, err
	}
	who, err := c.offered.Authenticator.Authenticate(ctx, http.Header{"Authorization": {"Bearer " + string(token)}})
	if err == nil && who == nil {
		err = errors.New("the caller is unknown")
	}
	return who, err
}

// read accepts frames and serves them, until reading fails or the host accepts no more.
func (c *framedConn) read(conn context.Context, calls *sync.WaitGroup) (refused bool, err error) {
	for {
		frame, err := readFramed(c, 16<<20)
		if err != nil {
			return false, err
		}
		exchange, err := c.host.Accept(conn, frame)
		if err != nil {
			return true, err
		}
		calls.Go(func() { _ = exchange.Serve(conn, c) }) // the error of a Send: the connection is broken
	}
}

// Send writes one frame.
func (c *framedConn) Send(ctx context.Context, frame transport.Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx = frame.Bound(ctx); ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return writeFramed(c, frame.JSON)
}

func writeFramed(w io.Writer, frame []byte) error {
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...))
	return err
}

func readFramed(r io.Reader, most uint32) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > most {
		return nil, errors.New("the frame is too long")
	}
	frame := make([]byte, n)
	_, err := io.ReadFull(r, frame)
	return frame, err
}

// framedClient is the client's end.
type framedClient struct {
	net.Conn
	frames chan []byte
	done   chan struct{} // closed by Close
	once   sync.Once
	mu     sync.Mutex // held while a frame is written
}

func dialFramed(ctx context.Context, addr string) (*framedClient, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return newFramedClient(conn), nil
}

func newFramedClient(conn net.Conn) *framedClient {
	c := &framedClient{Conn: conn, frames: make(chan []byte), done: make(chan struct{})}
	go func() {
		defer close(c.frames)
		for {
			frame, err := readFramed(conn, 16<<20)
			if err != nil {
				return
			}
			select {
			case c.frames <- frame:
			case <-c.done:
				return
			}
		}
	}()
	return c
}

func (c *framedClient) Read(ctx context.Context) ([]byte, error) {
	select {
	case frame, ok := <-c.frames:
		if !ok {
			return nil, io.EOF
		}
		return frame, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *framedClient) Write(_ context.Context, frame []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return writeFramed(c.Conn, frame)
}

func (c *framedClient) Close() error {
	c.once.Do(func() {
		close(c.done)
		_ = c.Conn.Close()
		for range c.frames { // until the reader has ended
		}
	})
	return nil
}

func listenFramed(t testing.TB) net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

func TestFramed(t *testing.T) {
	transporttest.Suite(t, func(t testing.TB, host transport.Host) transport.Conn {
		listener := listenFramed(t)
		served := make(chan error, 1)
		go func() { served <- Framed{listener}.Serve(t.Context(), host) }()
		t.Cleanup(func() {
			if err := <-served; err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
		conn, err := dialFramed(t.Context(), listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return conn
	})
}

func openFramed(t testing.TB) (transport.Transport, func(context.Context) (transport.Conn, error)) {
	listener := listenFramed(t)
	return Framed{listener}, func(ctx context.Context) (transport.Conn, error) {
		return dialFramed(ctx, listener.Addr().String())
	}
}

func TestFramedConnections(t *testing.T) { transporttest.Connections(t, openFramed) }

func TestFramedStops(t *testing.T) { transporttest.Stop(t, openFramed) }

// pipes is a listener in memory. The test sends the server's ends.
type pipes struct {
	conns chan net.Conn
	over  chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { close(p.over); return nil }
func (p pipes) Addr() net.Addr { return nil }

// TestFramedAuthenticates: a client without a valid token is refused. A client with a token is served
// until the token expires.
func TestFramedAuthenticates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guard := auth.Bearer(auth.Static{"key": {Subject: "ann", Expires: time.Now().Add(time.Hour)}})
		server, err := framework.New("framed", "1", framework.WithAuth(guard)).Build()
		if err != nil {
			t.Fatal(err)
		}
		listener := pipes{make(chan net.Conn), make(chan struct{})}
		served := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { served <- server.Serve(ctx, Framed{listener}) }()
		began := time.Now()
		for token, lasts := range map[string]time.Duration{"key": time.Hour, "none": 0} {
			near, far := net.Pipe()
			c := newFramedClient(near)
			listener.conns <- far
			_ = c.Write(t.Context(), []byte(token))
			_ = c.Write(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)) // fails if the token is refused
			if _, err := c.Read(t.Context()); (err == nil) != (lasts > 0) {
				t.Errorf("with the token %q: %v", token, err)
			}
			if _, err := c.Read(t.Context()); !errors.Is(err, io.EOF) || lasts > 0 && time.Since(began) < lasts {
				t.Errorf("with the token %q, after %v: %v, want io.EOF", token, time.Since(began), err)
			}
			_ = c.Close()
		}
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}
