package fiberhttp

import (
	"context"
	"time"

	"github.com/kagami-mcp/kagami/transport/streamable"
)

// takes reports whether the lender can implement streamable.Taker: the connection is ours, and fasthttp's
// buffers would lose nothing.
func (l *lender) takes() bool {
	conn, ok := l.rc.Conn().(*lent)
	return ok && l.carrier.again != nil && conn.alone()
}

// Take implements streamable.Taker: it takes the connection while fasthttp waits for its handler. What
// fasthttp does with the connection afterwards has no effect; see lent.
func (l *lender) Take(ctx context.Context, stream *streamable.Stream) {
	c, header := l.carrier, &l.rc.Request.Header
	c.streams.Join()
	on := &line{streams: c.streams, again: c.again, sink: sink{
		conn: keep(l.rc.Conn()), timeout: c.WriteTimeout, buffers: &c.buffers, modern: header.IsHTTP11(),
	}}
	on.keeps = on.modern && !header.ConnectionClose()
	_ = on.conn.SetReadDeadline(time.Time{}) // that of the request; it fails only on what is closed
	on.carried.Add(1)
	on.gone = stream.Begin(ctx, on, on.over)
	go on.watch()
}
