package fiberhttp

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/valyala/fasthttp"

	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
)

// fasthttp reads a body before it calls the handler, so the handler cannot refuse a request by its
// header alone. fasthttp calls the program before the body only if the request expects "100
// Continue". A server of New therefore adds that field to each request whose body is not small
// ([announced]) and judges the request by its header ([server.judge]). If the client did not send
// the field, the server drops the "100 Continue" ([swallowing.rest]). The handler then finds the
// verdict and reads the body.

// verdict is the result of the checks before the body of a request is read.
type verdict struct {
	request *request
	visit   httpserver.PendingRequest // nil until the request was judged
	wanted  bool                      // a handler of the program wants the body
}

type verdictKey struct{}

const (
	expect    = "Expect"
	goAhead   = "100-continue"
	continues = "HTTP/1.1 100 Continue\r\n\r\n" // as fasthttp writes it
)

// announced makes fasthttp call judge before it reads the body, if the body is longer than
// prefetched or of unknown length.
func announced(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if length := h.ContentLength(); length > prefetched || length == -1 {
		h.Set(expect, goAhead)
	}
	return fasthttp.RequestConfig{}
}

// judge is called for a request before its body is read. It answers a request that is refused and
// returns the status. Status 100 means that the body is to be read.
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

// rest returns the part of p to be written.
func (s *swallowing) rest(p []byte) []byte {
	if !s.next {
		return p
	}
	s.next = false
	return bytes.TrimSuffix(p, []byte(continues))
}

// ending records whether the client has ended its sending half. This tells apart a body in chunks
// that is whole and one that broke off between two chunks; fasthttp ends the stream of both in the
// same way.
type ending struct{ read bool }

func (e *ending) note(err error) { e.read = e.read || errors.Is(err, io.EOF) }

func (e *ending) sendsNoMore() bool { return e.read }

// broken reports whether the connection ended before the body was whole. It is called when the
// stream of a body in chunks has ended. On a mounted endpoint it always returns false.
func broken(rc *fasthttp.RequestCtx) bool {
	c, ok := rc.Conn().(interface{ sendsNoMore() bool })
	return ok && c.sendsNoMore()
}
