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

// loan records who owns a connection that fasthttp serves. A stream that takes over the connection
// keeps it: fasthttp then closes its wrapper to reuse its memory, and the connection stays open.
type loan struct {
	kept atomic.Bool
	lost atomic.Pointer[time.Timer] // timer of a stream that is about to keep the connection; otherwise nil
}

// over reports whether closing the wrapper closes the connection. If a stream was about to take
// over the connection, over makes its timer fire at once.
func (l *loan) over() bool {
	if l.kept.Load() {
		return false
	}
	if lost := l.lost.Swap(nil); lost != nil && lost.Stop() { // otherwise it has fired
		lost.Reset(0)
	}
	return true
}

// claim is called for a stream that is about to take over conn. If fasthttp closes conn before
// that, the timer lost fires at once.
func claim(conn net.Conn, lost *time.Timer) {
	switch c := conn.(type) {
	case *lent:
		c.lost.Store(lost)
	case *lentSecurely:
		c.lost.Store(lost)
	}
}

// lent is a connection while fasthttp serves it. A stream may take it from a handler that is still
// running. What fasthttp then does at the end of the handler has no effect: its response is
// discarded, and its Close does not close the connection. If the stream gives the connection back,
// fasthttp serves it again.
//
// A lent is in one of three states. Normally, Read and Write pass through. While a stream owns the
// connection (kept), Write discards and Close does nothing. After goOn (mute), Write discards the
// one response that fasthttp still owes. The fields of loan are atomic, because streams use them in
// other goroutines. The other fields are used only by the goroutine that serves the connection
// in fasthttp.
type lent struct {
	net.Conn
	loan
	swallowing
	ending
	early []byte // bytes that were read earlier

	ahead   int    // number of bytes read beyond the requests so far; see alone
	unsent  bool   // nothing was written since the last handler returned
	mute    bool   // drop the next Write, a response that a stream has already sent
	holding bool   // Write keeps its argument in held
	held    []byte // the bytes of Write while holding
}

// Read returns the early bytes, and then reads the connection.
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

// goOn returns the connection to fasthttp; early has the bytes that were already read. fasthttp
// writes its empty response at once, because its buffers are otherwise empty; see alone.
func (l *lent) goOn(early []byte) {
	l.early, l.mute = early, true
	l.kept.Store(false)
	_ = l.SetReadDeadline(time.Time{}) // the stream has set a deadline to end its reading; this fails only on a closed connection
}

// answered reports whether a stream was the response to the request on conn and has given conn
// back. It is then too late to announce that the connection is closed.
func answered(conn net.Conn) bool {
	l, ok := conn.(*lent)
	return ok && l.mute
}

// begin counts the bytes of a request. It is called before fasthttp's handler.
func (l *lent) begin(r *fasthttp.Request) {
	h := &r.Header
	l.ahead -= len(h.Method()) + len(" ") + len(h.RequestURI()) + len(" HTTP/1.1\r\n") + len(h.RawHeaders()) + h.ContentLength()
}

// alone reports whether fasthttp's buffers hold only the request of the handler that is running: no
// part of a next request, and no earlier answer. After a request in an unusual form, such as chunks
// or empty lines before it, alone returns false from then on.
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
	case head == nil: // w was empty, or does not write directly to l
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

// NetConn returns the wrapped connection.
func (l *lent) NetConn() net.Conn { return l.Conn }

// lentSecurely is lent for TLS. It embeds *tls.Conn, because fasthttp then recognizes TLS.
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

// Write writes p, except for a "100 Continue" that is to be dropped.
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

// keep takes the connection over from fasthttp and returns it without its wrapper.
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

// lending is a listener that wraps its connections for fasthttp.
type lending struct {
	net.Listener
	secure *tls.Config // nil without TLS
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
