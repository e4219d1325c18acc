package fiberhttp

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// stream makes stream the response of the request.
func (c *carrier) stream(ctx context.Context, rc *fasthttp.RequestCtx, stream *streamable.Stream) {
	if w := workerOf(rc); w != nil {
		w.Hijack(ctx, stream)
		return
	}
	c.hijack(ctx, rc, stream)
}

// hijack takes the connection from a server of the program when all middleware has returned.
// fasthttp's own streams do not notice that an idle client disconnects, and are cut off by
// WriteTimeout. The carrier writes the response itself (HijackSetNoResponse). Otherwise fasthttp
// would ignore Hijack for a request with "Connection: close".
func (c *carrier) hijack(ctx context.Context, rc *fasthttp.RequestCtx, stream *streamable.Stream) {
	rc.Response.Header.SetConnectionClose()
	rc.HijackSetNoResponse(true)
	lost := time.AfterFunc(c.WriteTimeout, func() { stream.Begin(ctx, noConn{}, func() {})() })
	rc.Hijack(func(conn net.Conn) { // runs in a goroutine of its own, where a panic would end the process
		if under, ok := conn.(interface{ UnsafeConn() net.Conn }); ok {
			conn = under.UnsafeConn()
		}
		if lost.Stop() {
			l := c.line(conn, rc)
			l.begin(ctx, stream)
			l.wait()
		}
		_ = conn.Close() // the client has received everything
	})
}

// noConn is the sink of a stream that never received its connection. fasthttp drops a Hijack if an
// earlier write has failed, for example to a pipelining client that has disconnected, or if its
// TimeoutHandler has already responded. Without this sink the stream would wait as long as the
// server runs.
type noConn struct{}

// Open implements streamable.Sink.
func (noConn) Open(int, []streamable.Field, int) error { return net.ErrClosed }

// Write implements streamable.Sink.
func (noConn) Write([]byte) error { return net.ErrClosed }

// line is a connection while it carries a stream. One goroutine (wait) reads the connection, to notice
// when the client disconnects. Senders write in their own goroutines.
//
// The sink belongs to the stream until over, which runs once, in a goroutine of the stream. read and
// early belong to the goroutine in wait. wait reads opened and failed only after over: carried waits
// for that. wait then owns the connection.
type line struct {
	sink
	gone    func()         // notifies the stream that the client has disconnected
	lasts   bool           // see streamable.Stream.LongLived: the client may have closed only its sending half
	carried sync.WaitGroup // waits for the end of the stream
	read    [16]byte
	early   []byte // bytes that the client sent while the stream was open; kept only if the connection goes on
}

// line returns a line for the response to the request of rc. The connection ends with the stream.
func (c *carrier) line(conn net.Conn, rc *fasthttp.RequestCtx) *line {
	return &line{sink: sink{
		conn: conn, timeout: c.WriteTimeout, buffers: &c.buffers,
		modern: rc.Request.Header.IsHTTP11(), inherited: inherited(&rc.Response.Header),
	}}
}

// begin begins the stream. The caller calls wait afterwards.
func (l *line) begin(ctx context.Context, stream *streamable.Stream) {
	l.carried.Add(1)
	l.lasts, l.gone = stream.LongLived(), stream.Begin(ctx, l, l.over)
}

// over ends the body, and ends the wait.
func (l *line) over() {
	defer l.carried.Done()
	l.finish()
}

// wait returns when the stream is over. If the client disconnects earlier, wait closes the
// connection, which also ends a blocked write. It reports whether the connection can carry the next
// request.
func (l *line) wait() (goesOn bool) {
	left := l.watch()
	if left {
		_ = l.conn.Close()
		l.gone()
	}
	l.carried.Wait()
	return !left && l.keeps && l.opened && !l.failed
}

// ignored is the number of bytes after which nothing more is read from a client during a stream.
// Requests that it pipelined are answered after the stream, or not at all if the connection ends
// with the stream.
const ignored = 64 << 10

// watch returns when the client has disconnected (left) or the stream is over. It also returns when
// reading can tell nothing more; a disconnect then makes a write fail.
func (l *line) watch() (left bool) {
	for total := len(l.early); total <= ignored; {
		n, err := l.conn.Read(l.read[:])
		if total += n; l.keeps {
			l.early = append(l.early, l.read[:n]...)
		}
		if err != nil {
			over, half := errors.Is(err, os.ErrDeadlineExceeded), l.lasts && errors.Is(err, io.EOF)
			return !over && !half
		}
	}
	return false
}
