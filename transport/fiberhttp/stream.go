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

	"github.com/kagami-mcp/kagami/transport/internal/inflight"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// open takes over the connection (Hijack) when all middleware has returned. fasthttp's own streams
// do not notice that an idle client disconnects, and are cut off by WriteTimeout. The carrier
// writes the response itself (HijackSetNoResponse). Otherwise fasthttp would ignore Hijack for a
// request with "Connection: close".
func (c *carrier) open(ctx context.Context, rc *fasthttp.RequestCtx, stream *streamable.Stream) {
	c.streams.Add()
	last := rc.Request.Header.ConnectionClose()
	rc.Response.Header.SetConnectionClose()
	rc.HijackSetNoResponse(true)
	lost := time.AfterFunc(c.WriteTimeout, func() { stream.Begin(ctx, noConn{}, c.streams.Done)() })
	claim(rc.Conn(), lost)
	rc.Hijack(func(conn net.Conn) { // runs in a goroutine of its own, where a panic would end the process
		l := c.line(rc, conn, last)
		if !lost.Stop() {
			_ = l.conn.Close()
			return
		}
		l.lasts, l.gone = stream.LongLived(), stream.Begin(ctx, l, l.over)
		if c.again != nil {
			go l.watch() // lets fasthttp reuse its memory
			return
		}
		l.watch()
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

// line is a connection that carries a stream. One goroutine (watch) reads the connection and waits
// for the client to disconnect. Senders write in their own goroutines. After the stream, watch
// closes the connection or serves the next request on it.
type line struct {
	sink
	streams *inflight.Counter
	again   *again
	handler *handler       // runs in fasthttp's goroutine; nil if fasthttp has given up the connection
	gone    func()         // notifies the stream that the client has disconnected
	lasts   bool           // see streamable.Stream.LongLived: the client may have closed only its sending half
	carried sync.WaitGroup // waits for the end of the stream
	read    [16]byte
	early   []byte // bytes that the client sent while the stream was open
}

func (c *carrier) line(rc *fasthttp.RequestCtx, conn net.Conn, last bool) *line {
	buffered := conn
	if under, ok := conn.(interface{ UnsafeConn() net.Conn }); ok {
		conn = keep(under.UnsafeConn()) // without fasthttp's buffer, which takeBuffered empties
	}
	l := &line{streams: c.streams, again: c.again, sink: sink{
		conn: conn, timeout: c.WriteTimeout, buffers: &c.buffers,
		modern: rc.Request.Header.IsHTTP11(), inherited: inherited(&rc.Response.Header),
	}}
	l.keeps = l.modern && !last && c.again.takes(rc.IsTLS()) && l.takeBuffered(buffered)
	l.carried.Add(1)
	return l
}

// takeBuffered moves what the client has sent after its request out of fasthttp's buffer. It
// returns false if that is more than ignored.
func (l *line) takeBuffered(conn net.Conn) bool {
	_ = l.conn.SetReadDeadline(time.Unix(1, 0)) // without waiting for more
	for err := error(nil); err == nil && len(l.early) <= ignored; {
		var n int
		n, err = conn.Read(l.read[:])
		l.early = append(l.early, l.read[:n]...)
	}
	return l.conn.SetReadDeadline(time.Time{}) == nil && len(l.early) <= ignored
}

// over ends the body, and ends the wait of watch.
func (l *line) over() {
	defer l.carried.Done()
	l.finish()
}

// ignored is the number of bytes after which nothing more is read from a client during a stream.
// Requests that it pipelined are answered after the stream, or not at all if the connection ends
// with the stream.
const ignored = 64 << 10

// watch waits for the end of the stream or a disconnect, which also ends a blocked write. After the
// stream it closes the connection, or continues with the next request.
func (l *line) watch() {
	left := l.wait()
	if left {
		_ = l.conn.Close()
		l.gone()
	}
	l.carried.Wait()
	goesOn := !left && l.keeps && l.opened && !l.failed
	switch {
	case l.handler.end(goesOn, l.early):
		l.streams.Done()
	case goesOn && l.again.begin():
		l.streams.Done()
		l.again.serve(l.conn, l.early)
	default:
		_ = l.conn.Close() // the client has received everything
		l.streams.Done()
	}
}

// wait returns when the client has disconnected (left) or the stream is over. It also returns when
// reading can tell nothing more; a disconnect then makes a write fail.
func (l *line) wait() (left bool) {
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
