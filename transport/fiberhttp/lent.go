package fiberhttp

import (
	"crypto/tls"
	"net"
	"sync/atomic"
)

// lent is a connection as fasthttp has it. A stream that takes the connection over keeps
// it: when fasthttp has its memory back it closes what it has, which is this.
type lent struct {
	net.Conn
	early []byte // what was read from it before
	kept  atomic.Bool
}

// Read reads what was read before, and then the connection.
func (l *lent) Read(p []byte) (int, error) {
	if len(l.early) == 0 {
		return l.Conn.Read(p)
	}
	n := copy(p, l.early)
	l.early = l.early[n:]
	return n, nil
}

// Close leaves a connection that is kept to its keeper.
func (l *lent) Close() error {
	if l.kept.Load() {
		return nil
	}
	return l.Conn.Close()
}

// NetConn is the connection.
func (l *lent) NetConn() net.Conn { return l.Conn }

// lentSecurely is lent with TLS, by which fasthttp knows it.
type lentSecurely struct {
	*tls.Conn
	kept atomic.Bool
}

// Close leaves a connection that is kept to its keeper.
func (l *lentSecurely) Close() error {
	if l.kept.Load() {
		return nil
	}
	return l.Conn.Close()
}

// keep takes the connection over from fasthttp.
func keep(conn net.Conn) net.Conn {
	switch c := conn.(type) {
	case *lent:
		c.kept.Store(true)
		return c.Conn
	case *lentSecurely:
		c.kept.Store(true)
		return c.Conn
	}
	return conn
}

// lending lends connections to fasthttp.
type lending struct {
	net.Listener
	secure *tls.Config // nil: without TLS
}

// Accept waits for a connection.
func (l *lending) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	switch {
	case err != nil:
		return nil, err
	case l.secure != nil:
		return &lentSecurely{Conn: tls.Server(conn, l.secure)}, nil
	}
	return &lent{Conn: conn}, nil
}
