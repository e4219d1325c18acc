package fiberhttp

import (
	"bufio"
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
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

// lent is a connection as fasthttp has it. When a stream has taken it from a handler that still runs,
// what fasthttp does at the end of the handler has no effect: it writes a response, which is
// discarded, and closes the connection, unless that was given back.
type lent struct {
	net.Conn
	loan
	swallowing
	ending
	early []byte // what was read from it before

	ahead   int    // how much more was read than the requests so far have; see alone
	unsent  bool   // nothing was written since the last handler returned
	mute    bool   // the next Write is of a response that a stream has sent already
	holding bool   // Write holds what it gets
	held    []byte // by it
}

// Read returns what was read early, and then reads the connection.
func (l *lent) Read(p []byte) (n int, err error) {
	if len(l.early) == 0 {
		n, err = l.Conn.Read(p)
	} else {
		n = copy(p, l.early)
		l.early = l.early[n:]
	}
	l.ahead += n
	l.note(err)
	return n, err
}

// Write writes p, or holds it for Join.
func (l *lent) Write(p []byte) (int, error) {
	l.unsent = false
	if rest := l.rest(p); len(rest) < len(p) {
		if len(rest) > 0 {
			if _, err := l.Conn.Write(rest); err != nil {
				return 0, err
			}
		}
		return len(p), nil
	}
	switch {
	case l.holding:
		l.held = p
		return len(p), nil
	case l.mute, l.kept.Load():
		l.mute = false
		return len(p), nil
	}
	return l.Conn.Write(p)
}

// goOn lets fasthttp have the connection again, from which early was read. It writes its response, an
// empty one, at once, since nothing else is in its buffers; see alone.
func (l *lent) goOn(early []byte) {
	l.early, l.mute = early, true
	l.kept.Store(false)
	_ = l.SetReadDeadline(time.Time{}) // the one that has ended the stream's reading; it fails only on what is closed
}

// answered reports whether a stream was the response to the request on conn, and has given conn back: it
// is too late to tell the client that the connection ends.
func answered(conn net.Conn) bool {
	l, ok := conn.(*lent)
	return ok && l.mute
}

// begin counts a request, for which fasthttp calls its handler.
func (l *lent) begin(r *fasthttp.Request) {
	h := &r.Header
	l.ahead -= len(h.Method()) + len(" ") + len(h.RequestURI()) + len(" HTTP/1.1\r\n") + len(h.RawHeaders()) + h.ContentLength()
}

// alone reports whether fasthttp's buffers have nothing but the request of the handler that runs: no
// part of a next one, and no earlier answer. Where requests have unusual forms (chunks, empty
// lines before them) it is false from then on.
func (l *lent) alone() bool { return l.ahead == 0 && !l.unsent }

// end is called when the handler has returned.
func (l *lent) end() { l.unsent = true }

// Join implements httpserver.GatherWriter.
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
	return httpserver.Together(l.Conn, head, body)
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
	swallowing
	ending
}

// Read reads the connection.
func (l *lentSecurely) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	l.note(err)
	return n, err
}

// Write writes p without what is swallowed of it.
func (l *lentSecurely) Write(p []byte) (int, error) {
	rest := l.rest(p)
	if len(rest) == 0 {
		return len(p), nil
	}
	if _, err := l.Conn.Write(rest); err != nil {
		return 0, err
	}
	return len(p), nil
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
