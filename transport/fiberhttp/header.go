package fiberhttp

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/valyala/fasthttp"

	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
)

// fasthttp reads a body before it calls the handler, and so before anybody has judged the header.
// Only a request that expects "100 Continue" is shown to the program first. A server of its own
// therefore treats each request whose body is not small as one that does ([announced]), judges it by
// its header ([server.judge]), and swallows the "100 Continue" if the client did not ask for it
// ([swallowing.rest]). The handler then finds the verdict in the request, and reads the body.

// verdict is what was found of a request before its body was read.
type verdict struct {
	request *request
	visit   httpserver.PendingRequest // nil: it is not judged yet
	wanted  bool                      // it is for a handler of the program's own, which wants the body
}

type verdictKey struct{}

const (
	expect    = "Expect"
	goAhead   = "100-continue"
	continues = "HTTP/1.1 100 Continue\r\n\r\n" // as fasthttp writes it
)

// announced has a request judged before its body is read, if that is longer than what fasthttp reads
// ahead, or of unknown length.
func announced(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if length := h.ContentLength(); length > prefetched || length == -1 {
		h.Set(expect, goAhead)
	}
	return fasthttp.RequestConfig{}
}

// judge is called for a request before its body is read. It answers one that would be refused, and
// returns the status; 100 means that the body is wanted.
func (s *server) judge(rc *fasthttp.RequestCtx, route fasthttp.RequestHandler) int {
	asked := sent(&rc.Request.Header, expect)
	if !asked {
		rc.Request.Header.Del(expect)
	}
	first := &verdict{}
	rc.SetUserValue(verdictKey{}, first)
	s.handle(rc, route)
	if status := rc.Response.StatusCode(); status != http.StatusContinue {
		httpserver.Unread(rc.Conn())
		return status
	}
	rc.Response.Reset()
	if c, ok := rc.Conn().(interface{ swallow() }); ok && !asked {
		c.swallow()
	}
	return http.StatusContinue
}

// swallowing drops the next "100 Continue" that fasthttp writes.
type swallowing struct{ next bool }

func (s *swallowing) swallow() { s.next = true }

// rest returns what is to be written of p.
func (s *swallowing) rest(p []byte) []byte {
	if !s.next {
		return p
	}
	s.next = false
	return bytes.TrimSuffix(p, []byte(continues))
}

// ending knows whether the client has said that it sends no more. The stream of a body in chunks ends
// in the same way after its last chunk and where the connection ends between two.
type ending struct{ read bool }

func (e *ending) note(err error) { e.read = e.read || errors.Is(err, io.EOF) }

func (e *ending) sendsNoMore() bool { return e.read }

// broken reports whether the connection has ended before the body was whole, once the stream of a body
// in chunks has ended. A connection of a program's own server does not tell.
func broken(rc *fasthttp.RequestCtx) bool {
	c, ok := rc.Conn().(interface{ sendsNoMore() bool })
	return ok && c.sendsNoMore()
}
