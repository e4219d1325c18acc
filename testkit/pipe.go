package testkit

import (
	"context"
	"net"
	"sync"
)

// pipes is a listener without a socket. A deadline of its connections ends a Read that waits.
// Connections of fasthttputil do not support this: code that sets a deadline to take over a
// connection would wait forever.
type pipes struct {
	dialed chan net.Conn
	closed chan struct{}
	close  func() // closed, once
}

func newPipes() *pipes {
	closed := make(chan struct{})
	return &pipes{make(chan net.Conn), closed, sync.OnceFunc(func() { close(closed) })}
}

// dial opens a connection, and waits until it is accepted.
func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.dialed <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialed:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.close()
	return nil
}

// Addr implements net.Listener.
func (*pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "memory"} }
