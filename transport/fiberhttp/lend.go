package fiberhttp

import (
	"github.com/valyala/fasthttp"

	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// lender gives a request what belongs to its connection: the connection itself (see Take), and
// memory for the body of the response. That is what the connection keeps, or, for a long body, some
// that goes back when it is written, lest each connection keep as much as its longest answer.
type lender struct {
	rc      *fasthttp.RequestCtx // of a request that waits while the memory is written to
	carrier *carrier
	long    *httpserver.Body // nil: it was not long
	handler *handler         // of the request, if its connection was taken; else nil
}

// short is the longest body that goes into the connection's memory: with its header it fits into the
// write buffer.
const short = writeBuffer - 1<<10

// Buffer implements streamable.BufferSource.
func (l *lender) Buffer(size int) []byte {
	if size > short {
		l.long = l.carrier.memory.Take(size)
		return l.long.Bytes
	}
	if own := l.rc.Response.SwapBody(nil); cap(own) >= size {
		return own[:0]
	}
	return make([]byte, 0, size)
}

// settle makes the reply's body, which is in lent memory, the body of the response.
func (l *lender) settle(reply *streamable.Reply) {
	if l.long == nil {
		l.rc.Response.SwapBody(reply.Body)
		return
	}
	l.long.Bytes = reply.Body
	if own, ok := l.rc.Conn().(*lent); ok {
		l.long.Gatherer = own
	}
	l.rc.Response.SetBodyStream(l.long, len(reply.Body)) // which fasthttp closes in the end
}
