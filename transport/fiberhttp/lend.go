package fiberhttp

import (
	"github.com/valyala/fasthttp"

	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// lender lends a request what belongs to its connection: the connection itself (see Hijack), and
// memory for the body of the response. A short body is written into memory that the connection
// keeps. A long body gets memory of a pool, so that a connection does not keep as much memory as
// its longest answer.
type lender struct {
	rc      *fasthttp.RequestCtx // of a request that waits while the memory is written
	carrier *carrier
	long    *httpserver.Body // nil if the body is short
	handler *handler         // of the request, if its connection was taken; otherwise nil
}

// short is the size in bytes of the longest body that is written into the connection's memory. The
// body and its header fit into the write buffer.
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
	l.rc.Response.SetBodyStream(l.long, len(reply.Body)) // fasthttp closes the Body after it has written it
}
