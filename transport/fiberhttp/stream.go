package fiberhttp

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/kagami-mcp/kagami/transport/internal/tally"
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
	rc.Hijack(func(conn net.Conn) { // a goroutine in which a panic would end the process
		l := c.line(rc, conn)
		l.gone = stream.Begin(ctx, l, l.over)
		if c.keeps {
			go l.watch() // fasthttp has its memory back
			return
		}
		l.watch()
	})
}

// line is a connection that carries a stream. One goroutine waits for the client to
// leave; what is sent is written by who sends it.
type line struct {
	sink
	streams *tally.Tally
	gone    func()         // tells the stream that the client has left
	carried sync.WaitGroup // the stream
	read    [16]byte
}

func (c *carrier) line(rc *fasthttp.RequestCtx, conn net.Conn) *line {
	if under, ok := conn.(interface{ UnsafeConn() net.Conn }); ok {
		conn = under.UnsafeConn() // without fasthttp's buffer, and with a Close that closes
	}
	l := &line{streams: c.streams, sink: sink{
		conn: conn, timeout: c.WriteTimeout, buffers: &c.buffers,
		modern: rc.Request.Header.IsHTTP11(), inherited: inherited(&rc.Response.Header),
	}}
	l.carried.Add(1)
	return l
}

// over ends the body, and then the goroutine that reads.
func (l *line) over() {
	defer l.carried.Done()
	l.finish()
	_ = l.conn.SetReadDeadline(time.Unix(1, 0)) // it fails only on what is closed
}

// ignored is how much a client may send after its request: what it pipelined is not
// answered, since the connection ends with the stream.
const ignored = 64 << 10

// watch reads, only to see that the client has closed the connection, or its sending
// half, and ends a write that waits for it. It returns when nothing is left of the
// stream.
func (l *line) watch() {
	defer l.streams.End()
	for total := 0; total <= ignored; {
		n, err := l.conn.Read(l.read[:])
		if err != nil {
			break
		}
		total += n
	}
	_ = l.conn.Close() // the client has left, or has all that there was
	l.gone()
	l.carried.Wait()
}
