package fiberhttp

import (
	"context"
	"time"

	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// takes reports whether the lender can implement streamable.Hijacker: the connection is ours, and fasthttp's
// buffers would lose nothing.
func (l *lender) takes() bool {
	conn, ok := l.rc.Conn().(*lent)
	return ok && l.carrier.again != nil && conn.alone()
}

// Hijack implements streamable.Hijacker: it takes the connection while fasthttp waits for its handler. Until
// the handler has returned, fasthttp does nothing with the connection.
func (l *lender) Hijack(ctx context.Context, stream *streamable.Stream) {
	c, header := l.carrier, &l.rc.Request.Header
	c.streams.Add()
	on := &line{
		streams: c.streams, again: c.again, handler: newHandler(),
		sink: sink{conn: keep(l.rc.Conn()), timeout: c.WriteTimeout, buffers: &c.buffers, modern: header.IsHTTP11()},
	}
	on.keeps = on.modern && !header.ConnectionClose() && c.again.takes(false)
	_ = on.conn.SetReadDeadline(time.Time{}) // that of the request; it fails only on what is closed
	on.carried.Add(1)
	l.handler = on.handler
	on.lasts, on.gone = stream.LongLived(), stream.Begin(ctx, on, on.over)
	go on.watch()
}

// returned is called when the handler has returned after Take. It lets fasthttp go on with the
// connection if the stream gives it back, which then has been its response.
func (l *lender) returned() {
	conn, _ := l.rc.Conn().(*lent) // see takes
	if early, back := l.handler.awaitBack(); back {
		conn.goOn(early)
		return
	}
	l.rc.SetConnectionClose()
}

// handler is one whose connection was taken. A nil handler has lost its connection.
type handler struct {
	returned chan struct{} // closed when it has returned
	back     chan []byte   // 1-buffered: what was read early, when the connection is given back; closed: it is not
}

func newHandler() *handler {
	return &handler{returned: make(chan struct{}), back: make(chan []byte, 1)}
}

// awaitBack says that the handler has returned, and waits for what becomes of its connection.
func (h *handler) awaitBack() (early []byte, back bool) {
	close(h.returned)
	early, back = <-h.back
	return early, back
}

// end is called when the stream is over. It gives the connection back, if that goes on and the handler
// has returned, or is about to.
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
