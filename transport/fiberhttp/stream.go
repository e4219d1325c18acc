package fiberhttp

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/kagami-mcp/kagami/transport/internal/front"
	"github.com/kagami-mcp/kagami/transport/internal/guarded"
	"github.com/kagami-mcp/kagami/transport/streamable"
)

// open takes the connection over when all middleware has run. fasthttp's own ways of
// streaming never notice an idle client that leaves, and are cut off by WriteTimeout.
// Without response, because fasthttp ignores Hijack with one for a request that says
// "Connection: close".
func (c *carrier) open(ctx context.Context, rc *fasthttp.RequestCtx, stream *streamable.Stream) {
	c.streams.Join()
	rc.Response.Header.SetConnectionClose()
	rc.HijackSetNoResponse(true)
	rc.Hijack(func(conn net.Conn) {
		defer c.streams.End()
		c.carry(ctx, rc, conn, stream)
	})
}

// carry runs in a goroutine of fasthttp's, in which a panic would end the process. rc
// is ours until it returns.
func (c *carrier) carry(ctx context.Context, rc *fasthttp.RequestCtx, conn net.Conn, stream *streamable.Stream) {
	ctx, gone := context.WithCancel(ctx)
	defer gone()
	w := watch(conn, gone)
	defer w.join()
	defer func() {
		if value := recover(); value != nil {
			guarded.Report(value)
		}
	}()
	s := &sink{rc: rc, conn: conn, timeout: c.WriteTimeout, modern: rc.Request.Header.IsHTTP11()}
	stream.Serve(ctx, s)
	if ctx.Err() == nil {
		s.finish()
	}
}

// watcher reads from the connection, only to see that the client leaves.
type watcher struct {
	conn    net.Conn
	joining atomic.Bool
	done    chan struct{}
}

// watch calls gone when the client has closed the connection, or its sending half,
// and ends a write that waits for it.
func watch(conn net.Conn, gone func()) *watcher {
	w := &watcher{conn: conn, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.read()
		if w.joining.Load() {
			return
		}
		gone()
		if under, ok := conn.(interface{ UnsafeConn() net.Conn }); ok {
			_ = under.UnsafeConn().Close() // Close of a hijacked connection does nothing
		}
	}()
	return w
}

// ignored is how much a client may send after its request: what it pipelined is not
// answered, since the connection ends with the stream.
const ignored = 64 << 10

func (w *watcher) read() {
	buf := make([]byte, 512)
	for total := 0; total <= ignored; {
		n, err := w.conn.Read(buf)
		if err != nil {
			return
		}
		total += n
	}
}

// join waits for the reading goroutine: fasthttp uses the connection's memory again.
func (w *watcher) join() {
	w.joining.Store(true)
	_ = w.conn.SetReadDeadline(time.Unix(1, 0)) // it fails only on what is closed
	<-w.done
}

// sink writes a response of HTTP/1 on a connection.
type sink struct {
	rc      *fasthttp.RequestCtx
	conn    net.Conn
	timeout time.Duration
	modern  bool // HTTP/1.1
	chunked bool
	failed  bool
	buf     []byte // what is to be written
}

// Open puts the header before the first part of the body, so that both are one packet.
func (s *sink) Open(status int, header []streamable.Field, length int) error {
	s.chunked = length < 0 && s.modern
	s.buf = append(s.buf, "HTTP/1.1 "...)
	s.buf = append(strconv.AppendInt(s.buf, int64(status), 10), ' ')
	s.line(http.StatusText(status))
	s.inherit(header)
	for _, f := range header {
		s.field(f.Name, f.Value)
	}
	switch {
	case s.chunked:
		s.field("Transfer-Encoding", "chunked")
	case length >= 0:
		s.field("Content-Length", strconv.Itoa(length))
	}
	s.field("Connection", "close")
	s.line("")
	if length == 0 {
		return s.flush()
	}
	return nil
}

// inherit writes what middleware set, but for what describes a body it thought of.
func (s *sink) inherit(header []streamable.Field) {
	h := &s.rc.Response.Header
	if len(h.Peek("Date")) == 0 {
		s.buf = append(s.buf, "Date: "...)
		s.buf = fasthttp.AppendHTTPDate(s.buf, time.Now())
		s.line("")
	}
	for name, value := range h.All() {
		if !replaced(name, header) {
			s.field(string(name), string(value))
		}
	}
}

func replaced(name []byte, header []streamable.Field) bool {
	for _, own := range []string{
		"Content-Type", "Content-Length", "Content-Encoding", "Transfer-Encoding", "Connection", "Trailer", "Etag",
	} {
		if bytes.EqualFold(name, []byte(own)) {
			return true
		}
	}
	for _, f := range header {
		if f.Name != "Vary" && bytes.EqualFold(name, []byte(f.Name)) {
			return true
		}
	}
	return false
}

func (s *sink) field(name, value string) {
	s.buf = append(append(s.buf, name...), ": "...)
	s.line(value)
}

// line ends a line with text.
func (s *sink) line(text string) { s.buf = append(append(s.buf, text...), "\r\n"...) }

// Write sends a part as one chunk.
func (s *sink) Write(part []byte) error {
	if s.chunked {
		s.buf = strconv.AppendInt(s.buf, int64(len(part)), 16)
		s.line("")
	}
	s.buf = append(s.buf, part...)
	if s.chunked {
		s.line("")
	}
	return s.flush()
}

// finish ends the body.
func (s *sink) finish() {
	if s.chunked {
		s.buf = append(s.buf, "0\r\n\r\n"...)
	}
	_ = s.flush() // the last: nobody else is to be told
}

func (s *sink) flush() error {
	if s.failed || len(s.buf) == 0 {
		return net.ErrClosed
	}
	_, err := front.Write(s.conn, s.buf, s.timeout)
	s.failed = err != nil
	if s.buf = s.buf[:0]; cap(s.buf) > 64<<10 {
		s.buf = nil
	}
	return err
}
