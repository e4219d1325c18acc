package fiberhttp

import (
	"context"
	"time"

	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// takes reports whether the lender can implement streamable.Hijacker: the connection belongs to a
// server of New, and fasthttp's buffers hold nothing else.
func (l *lender) takes() bool {
	conn, ok := l.rc.Conn().(*lent)
	return ok && l.carrier.again != nil && conn.alone()
}

// Hijack implements streamable.Hijacker. It takes the connection while fasthttp waits for its
// handler. Until the handler has returned, fasthttp does not use the connection.
func (l *lender) Hijack(ctx context.Context, stream *streamable.Stream) {
	c, header := l.carrier, &l.rc.Request.Header
	c.streams.Add()
	on := &line{
		streams: c.streams, again: c.again, handler: newHandler(),
		sink: sink{conn: keep(l.rc.Conn()), timeout: c.WriteTimeout, buffers: &c.buffers, modern: header.IsHTTP11()},
	}
	on.keeps = on.modern && !header.ConnectionClose() && c.again.takes(false)
	_ = on.conn.SetReadDeadline(time.Time{}) // removes the deadline of the request; fails only on a closed connection
	on.carried.Add(1)
	l.handler = on.handler
	on.lasts, on.gone = stream.LongLived(), stream.Begin(ctx, on, on.over)
	go on.watch()
}

// returned is called when the handler has returned after Hijack. If the stream gives the connection
// back, fasthttp continues with it. The stream was then the response.
func (l *lender) returned() {
	conn, _ := l.rc.Conn().(*lent) // takes has checked the type
	if early, back := l.handler.awaitBack(); back {
		conn.goOn(early)
		return
	}
	l.rc.SetConnectionClose()
}

// handler is a running fasthttp handler whose connection was taken. The handler and the goroutine
// of the stream (line.watch) meet here: awaitBack waits for end, which decides what becomes of the
// connection. A nil handler cannot get its connection back.
type handler struct {
	returned chan struct{} // closed when the handler has returned
	back     chan []byte   // 1-buffered: the early bytes, if the connection is given back; otherwise closed
}

func newHandler() *handler {
	return &handler{returned: make(chan struct{}), back: make(chan []byte, 1)}
}

// awaitBack announces that the handler has returned, and waits for end. back reports whether the
// connection was given back.
func (h *handler) awaitBack() (early []byte, back bool) {
	close(h.returned)
	early, back = <-h.back
	return early, back
}

// end is called when the stream is over. It gives the connection back if goesOn is true and the
// handler has returned or returns within parting.
func (h *handler) end(goesOn bool, early []byte) (back bool) {
	if h == nil {
		return false
	}
	if goesOn && h.returns() {
		h.back <- early
		return true
	}
	close(h.back)
	return false
}

// parting is how long a stream that is over waits for the handler to return.
const parting = 2 * time.Millisecond

func (h *handler) returns() bool {
	select {
	case <-h.returned:
		return true
	default:
	}
	late := time.NewTimer(parting)
	defer late.Stop()
	select {
	case <-h.returned:
		return true
	case <-late.C:
		return false
	}
}
