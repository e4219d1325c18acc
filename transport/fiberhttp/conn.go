package fiberhttp

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// conn is a connection of a stand-alone server. It has one owner at a time: a worker, which reads
// requests and answers them, or the stream that is the response to the worker's last request. The
// worker hands the connection to the stream (Hijack) and does not touch it afterwards. When the
// stream is over, its goroutine continues with a new worker.
type conn struct {
	net.Conn
	server *server
	early  []byte // bytes of the next request that were read during a stream
	timed  bool   // the read deadline is for the request, not for an idle connection
	closed sync.Once
}

// Read reads for the worker's buffer. A request that is not there at once must arrive within
// ReadTimeout.
func (c *conn) Read(p []byte) (int, error) {
	if len(c.early) > 0 {
		n := copy(p, c.early)
		c.early = c.early[n:]
		return n, nil
	}
	if !c.timed {
		c.timed = true
		c.expire(c.server.ReadTimeout)
	}
	return c.Conn.Read(p)
}

// expire sets the read deadline to d from now. Zero removes the deadline.
func (c *conn) expire(d time.Duration) {
	until := time.Time{}
	if d > 0 {
		until = time.Now().Add(d)
	}
	_ = c.SetReadDeadline(until) // this fails only on a closed connection
}

// readBuffer bounds the header of a request in bytes; tokens may be long. Each connection has such a
// buffer, except during a stream.
const readBuffer = 16 << 10

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, readBuffer) }}

// reader returns a buffer for the requests on c.
func (c *conn) reader() *bufio.Reader {
	in, _ := readers.Get().(*bufio.Reader) // New makes no other type
	in.Reset(c)
	return in
}

// release puts the buffer back into the pool. What it still holds becomes early.
func (c *conn) release(in *bufio.Reader) {
	if rest, _ := in.Peek(in.Buffered()); len(rest) > 0 {
		c.early = slices.Concat(rest, c.early)
	}
	in.Reset(nil)
	readers.Put(in)
}

// Hijack implements streamable.Hijacker. The handler of the request may still be running.
func (w *worker) Hijack(ctx context.Context, stream *streamable.Stream) {
	w.hijacked = true
	c := w.conn
	c.release(w.in)
	c.expire(0)
	l := c.server.line(c.Conn, &w.rc)
	l.keeps = l.modern && !w.unread && !w.rc.Request.Header.ConnectionClose() && !c.server.stops()
	l.early, c.early = c.early, nil
	l.begin(ctx, stream)
	c.server.goroutines.Run(func() {
		if !l.wait() {
			_ = c.Close() // its error does not matter any more
			return
		}
		c.early = l.early
		httpserver.Answering(c.Conn, false)
		c.serve(c.server.IdleTimeout)
	})
}

// NetConn returns the connection of the listener, or the TLS connection on it, as tls.Conn does.
func (c *conn) NetConn() net.Conn { return c.Conn }

// Close ends the connection. A handler of the program may call it too.
func (c *conn) Close() error {
	c.closed.Do(c.server.open.Done)
	return c.Conn.Close() //nolint:wrapcheck // as a net.Conn
}

// secureWorker is a worker of a connection with TLS. fasthttp recognizes TLS by the methods.
type secureWorker struct{ *worker }

// Handshake runs the TLS handshake, unless that was done.
func (s secureWorker) Handshake() error { return s.tls().Handshake() } //nolint:noctx // the interface of fasthttp has no context

// ConnectionState describes the connection.
func (s secureWorker) ConnectionState() tls.ConnectionState { return s.tls().ConnectionState() }

func (s secureWorker) tls() *tls.Conn {
	conn, _ := s.Conn.(*tls.Conn) // see worker.begin
	return conn
}
