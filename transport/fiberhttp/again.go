package fiberhttp

import (
	"net"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
	"github.com/kagami-mcp/kagami/transport/internal/inflight"
)

// again returns connections to fasthttp after their stream has ended, so that the client can send
// its next request on the same connection.
type again struct {
	server   *fasthttp.Server
	idle     time.Duration // time without a request after which a connection is closed; 0: no limit
	stopping <-chan struct{}
	served   *inflight.Counter // connections that were returned
}

// takes reports whether a connection may be returned to fasthttp after a stream. A connection with
// TLS may not: to put early bytes back it would have to be wrapped, and fasthttp would not
// recognize TLS. When the server stops, no connection may; a stream that begins then sends
// "Connection: close".
func (a *again) takes(secure bool) bool { return a != nil && !secure && !httpserver.Stops(a.stopping) }

// begin counts a connection until serve has returned. It returns false once the server closes its
// connections. While the server only refuses new requests, connections go on, because the headers
// of their streams, written earlier, have not announced a close.
func (a *again) begin() bool { return a.served.TryAdd() }

// serve answers the requests on a connection until it is closed or carries another stream. early
// has the bytes that were already read.
func (a *again) serve(conn net.Conn, early []byte) {
	defer a.served.Done()
	httpserver.Answering(conn, false)
	if len(early) == 0 {
		early = a.next(conn)
	}
	if len(early) == 0 {
		_ = conn.Close() // no request came
		return
	}
	_ = a.server.ServeConn(&lent{Conn: conn, early: early}) // ServeConn closes it
}

// aRequest is the size in bytes of a buffer that holds most requests.
const aRequest = 1 << 10

// next waits for the first bytes of a request. fasthttp does not wait for them, because it would
// hold buffers for an idle connection, and limit it by ReadTimeout instead of IdleTimeout.
func (a *again) next(conn net.Conn) []byte {
	until := time.Time{}
	if a.idle > 0 {
		until = time.Now().Add(a.idle)
	}
	_ = conn.SetReadDeadline(until) // fails only on a closed connection
	early := make([]byte, aRequest)
	n, _ := conn.Read(early)
	return early[:n]
}
