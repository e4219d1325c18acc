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

// open takes the connection over (Hijack) when all middleware has run. fasthttp's own ways of streaming
// never notice that an idle client disconnects, and are cut off by WriteTimeout. The response is
// written by us (HijackSetNoResponse), because otherwise fasthttp ignores Hijack for a request with
// "Connection: close".
func (c *carrier) open(ctx context.Context, rc *fasthttp.RequestCtx, stream *streamable.Stream) {
	c.streams.Add()
	last := rc.Request.Header.ConnectionClose()
	rc.Response.Header.SetConnectionClose()
	rc.HijackSetNoResponse(true)
	lost := time.AfterFunc(c.WriteTimeout, func() { stream.Begin(ctx, nobody{}, c.streams.Done)() })
	claim(rc.Conn(), lost)
	rc.Hijack(func(conn net.Conn) { // a goroutine in which a panic would end the process
		l := c.line(rc, conn, last)
		if !lost.Stop() {
			_ = l.conn.Close()
			return
		}
		l.lasts, l.gone = stream.LongLived(), stream.Begin(ctx, l, l.over)
		if c.again != nil {
			go l.watch() // fasthttp has its memory back
			return
		}
		l.watch()
	})
}

// nobody is the sink of a stream that never gets its connection. fasthttp drops a Hijack if an earlier
// write has failed, as of answers to pipelined requests of a client that has gone, or if its own
// middleware has answered meanwhile (TimeoutHandler). Without this sink the stream would wait as long
// as the server runs.
type nobody struct{}

// Open implements streamable.Sink.
func (nobody) Open(int, []streamable.Field, int) error { return net.ErrClosed }

// Write implements streamable.Sink.
func (nobody) Write([]byte) error { return net.ErrClosed }

// line is a connection that carries a stream. One goroutine waits for the client to disconnect; senders
// write in their own goroutines.
type line struct {
	sink
	streams *inflight.Counter
	again   *again
	handler *handler       // that runs in fasthttp's goroutine; nil: fasthttp has given the connection away
	gone    func()         // tells the stream that the client has left
	lasts   bool           // the client may have closed only its sending half; see streamable.Stream.Lasts
	carried sync.WaitGroup // the stream
	read    [16]byte
	early   []byte // what the client sent while the stream was open
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

// takeBuffered takes what the client has sent after its request from fasthttp's buffer;
// false: it is more than may be kept.
func (l *line) takeBuffered(conn net.Conn) bool {
	_ = l.conn.SetReadDeadline(time.Unix(1, 0)) // without waiting for more
	for err := error(nil); err == nil && len(l.early) <= ignored; {
		var n int
		n, err = conn.Read(l.read[:])
		l.early = append(l.early, l.read[:n]...)
	}
	return l.conn.SetReadDeadline(time.Time{}) == nil && len(l.early) <= ignored
}

// over ends the body and makes the reading goroutine go on.
func (l *line) over() {
	defer l.carried.Done()
	l.finish()
}

// ignored is how much a client may send after its request before nothing more is read: what it
// pipelined is answered after the stream, or not at all where the connection ends with it.
const ignored = 64 << 10

// watch reads, only to see that the client has disconnected, and ends a write that waits for it. When
// nothing is left of the stream the connection is over, or goes on with its next request.
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
		_ = l.conn.Close() // the client has all that there was
		l.streams.Done()
	}
}

// wait returns when the client has disconnected (left), the stream is over, or there is nothing more to
// see: then a client that has left makes a write fail.
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
