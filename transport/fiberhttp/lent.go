package fiberhttp

import (
	"bufio"
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/transport/internal/front"
)

// loan is whose a connection is that fasthttp has. A stream that takes the connection over
// keeps it: when fasthttp has its memory back it closes what it has, which is not the
// connection then.
type loan struct {
	kept atomic.Bool
	lost atomic.Pointer[time.Timer] // of a stream that is to keep it; nil: none is
}

// over says whether a connection that fasthttp closes ends. A stream that was to keep it
// learns now that it will not.
func (l *loan) over() bool {
	if l.kept.Load() {
		return false
	}
	if lost := l.lost.Swap(nil); lost != nil && lost.Stop() { // else it has run
		lost.Reset(0)
	}
	return true
}

// claim is for a stream that is to keep conn: lost runs at once when fasthttp closes it
// before.
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

// Read reads what was read before, and then the connection.
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
	case head == nil: // there was nothing in w, or somebody is in between
		return w.Write(body)
	}
	return front.Together(l.Conn, head, body)
}

// Close leaves a connection that is kept to its keeper.
func (l *lent) Close() error {
	if !l.over() {
		return nil
	}
	return l.Conn.Close()
}

// NetConn is the connection.
func (l *lent) NetConn() net.Conn { return l.Conn }

// lentSecurely is lent with TLS, by which fasthttp knows it.
type lentSecurely struct {
	*tls.Conn
	loan
}

// Close leaves a connection that is kept to its keeper.
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
