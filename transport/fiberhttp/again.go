package fiberhttp

import (
	"net"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
	"github.com/kagami-mcp/kagami/transport/internal/inflight"
)

// again gives connections back to fasthttp when their stream is over: a client that has
// read an answer to its end asks the next thing without another connection.
type again struct {
	server   *fasthttp.Server
	idle     time.Duration // until a connection ends on which nothing comes; 0: it does not
	stopping <-chan struct{}
	served   *inflight.Counter // connections that were given back
}

// takes reports whether a connection may be given back. One with TLS may not: to put back bytes that
// were read early it would have to be wrapped, and fasthttp would no longer recognize TLS. When the server stops none
// may, and the stream that begins now says so.
func (a *again) takes(secure bool) bool { return a != nil && !secure && !httpserver.Stops(a.stopping) }

// begin counts a connection in, until serve has returned. It returns false once the server closes its
// connections. While it only refuses what comes, a connection goes on: the header of its stream, which
// may have been written long ago, did not say that it would not.
func (a *again) begin() bool { return a.served.TryAdd() }

// serve answers the requests on a connection, from which early was read already, until it is closed or
// carries another stream.
func (a *again) serve(conn net.Conn, early []byte) {
	defer a.served.Done()
	httpserver.Answering(conn, false)
	if len(early) == 0 {
		early = a.next(conn)
	}
	if len(early) == 0 {
		_ = conn.Close() // nothing came
		return
	}
	_ = a.server.ServeConn(&lent{Conn: conn, early: early}) // which closes it
}

// aRequest is room for most requests.
const aRequest = 1 << 10

// next waits for the first bytes of a request itself, because an idle connection in fasthttp would
// hold buffers, and would have only the time for the rest of a request.
func (a *again) next(conn net.Conn) []byte {
	until := time.Time{}
	if a.idle > 0 {
		until = time.Now().Add(a.idle)
	}
	_ = conn.SetReadDeadline(until) // it fails only on what is closed
	early := make([]byte, aRequest)
	n, _ := conn.Read(early)
	return early[:n]
}
