package fiberhttp

import (
	"bufio"
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/transport/internal/front"
)

// loan says who owns a connection that fasthttp has. A stream that takes the connection over keeps it:
// when fasthttp then closes its wrapper to get its memory back, the connection stays open.
type loan struct {
	kept atomic.Bool
	lost atomic.Pointer[time.Timer] // of a stream that is to keep it; nil: none is
}

// over reports whether closing the wrapper closes the connection. If a stream was still to take the
// connection over, over makes its timer fire now.
func (l *loan) over() bool {
	if l.kept.Load() {
		return false
	}
	if lost := l.lost.Swap(nil); lost != nil && lost.Stop() { // else it has run
		lost.Reset(0)
	}
	return true
}

// claim is called for a stream that is to take conn over: lost fires at once if fasthttp closes conn
// before that.
func claim(conn net.Conn, lost *time.Timer) {
	switch c := conn.(type) {
	case *lent:
		c.lost.Store(lost)
	case *lentSecurely:
		c.lost.Store(lost)
	}
}

// lent is a connection as fasthttp has it.
type lent struct {
	net.Conn
	loan
	early []byte // what was read from it before

	holding bool   // Write holds what it gets
	held    []byte // by it
}

// Read returns what was read early, and then reads the connection.
func (l *lent) Read(p []byte) (int, error) {
	if len(l.early) == 0 {
		return l.Conn.Read(p)
	}
	n := copy(p, l.early)
	l.early = l.early[n:]
	return n, nil
}

// Write writes p, or holds it for Join.
func (l *lent) Write(p []byte) (int, error) {
	if l.holding {
		l.held = p
		return len(p), nil
	}
	return l.Conn.Write(p)
}

// Join implements front.Joiner.
func (l *lent) Join(w *bufio.Writer, body []byte) (int, error) {
	l.holding = true
	err := w.Flush()
	head := l.held
	l.holding, l.held = false, nil
	switch {
	case err != nil:
		return 0, err
	case head == nil: // there was nothing in w, or w does not write to l directly
		return w.Write(body)
	}
	return front.Together(l.Conn, head, body)
}

// Close closes the connection, unless a stream keeps it.
func (l *lent) Close() error {
	if !l.over() {
		return nil
	}
	return l.Conn.Close()
}

// NetConn is the connection.
func (l *lent) NetConn() net.Conn { return l.Conn }

// lentSecurely is lent for TLS. It embeds *tls.Conn, by which fasthttp recognizes TLS.
type lentSecurely struct {
	*tls.Conn
	loan
}

// Close closes the connection, unless a stream keeps it.
func (l *lentSecurely) Close() error {
	if !l.over() {
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
