package fiberhttp

import (
	"bufio"
	"crypto/tls"
	"errors"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// worker reads the requests on a connection and answers them, one after the other, in one
// goroutine. It has what handlers of fasthttp need, and memory for responses.
//
// Workers are used again, except if a handler has ended the goroutine (runtime.Goexit) or has
// panicked, because the handler may then have left anything in rc.
type worker struct {
	*conn
	rc   fasthttp.RequestCtx
	in   *bufio.Reader
	out  []byte // header and short body of a response
	body []byte // short body of an answer
	long []byte // long body of an answer; otherwise nil

	returned bool // no handler uses the worker any more
	hijacked bool // the connection belongs to a stream; the worker must not touch it
	unread   bool // the body of the request was not read
	expects  bool // the client waits for "100 Continue" before it sends the body

	guest *guest // handler of the program that answers the request; may be nil
}

// workerOf returns the worker that serves a request, or nil if a server of the program does.
func workerOf(rc *fasthttp.RequestCtx) *worker {
	if own, ok := rc.Conn().(interface{ own() *worker }); ok {
		return own.own()
	}
	return nil
}

func (w *worker) own() *worker { return w }

var workers = sync.Pool{New: func() any { return new(worker) }}

// serve reads and answers requests until the connection ends or belongs to a stream. The first
// request must begin within wait; zero means no limit.
func (c *conn) serve(wait time.Duration) {
	w, _ := workers.Get().(*worker) // New makes no other type
	w.begin(c)
	defer w.end()
	for w.next(wait) {
		wait = c.server.IdleTimeout
	}
	w.returned = !w.rc.Hijacked()
}

// begin makes w the owner of c.
func (w *worker) begin(c *conn) {
	w.conn, w.in, w.returned, w.hijacked = c, c.reader(), false, false
	if _, secure := c.Conn.(*tls.Conn); secure {
		w.rc.Init2(secureWorker{w}, discard{}, true)
		return
	}
	w.rc.Init2(w, discard{}, true)
}

// end gives up the connection.
func (w *worker) end() {
	if value := recover(); value != nil && value != http.ErrAbortHandler { //nolint:errorlint // as net/http compares it
		w.server.front.Log().Panicked(value)
	}
	c, in, hijacked := w.conn, w.in, w.hijacked
	if w.returned {
		w.reset()
		w.conn, w.in = nil, nil
		w.rc.Init2(nil, nil, true)
		workers.Put(w)
	}
	if !hijacked {
		c.release(in)
		_ = c.Close() // its error does not matter any more
	}
}

// next serves one request that begins within wait. It returns false if no request begins, or if the
// connection ends with it.
func (w *worker) next(wait time.Duration) (goesOn bool) {
	w.expire(wait)
	w.timed = true
	_, err := w.in.Peek(1)
	w.timed = false
	if err != nil {
		return false
	}
	if err := w.rc.Request.Header.Read(w.in); err != nil {
		w.refuse(err)
		return false
	}
	end, more := connectionFlags(&w.rc.Request.Header)
	if end {
		w.rc.Request.Header.SetConnectionClose()
	}
	length := w.rc.Request.Header.ContentLength()
	w.unread = length > 0 || length == chunked
	w.expects = w.unread && more
	if !w.unread {
		httpserver.Answering(w.Conn, true)
	}
	if w.rc.IsTLS() { // fasthttp's server marks the request, which only that package can do
		w.rc.URI().SetScheme("https")
	}
	w.server.handle(&w.rc)
	if w.rc.Hijacked() { // by a handler of the program
		w.hijacked = true
	}
	if w.hijacked {
		return false
	}
	goesOn = w.respond()
	if g := w.guest; g != nil {
		w.guest = nil
		if !goesOn {
			_ = w.Close() // the client does not wait for the handler
		}
		g.leave()
	}
	if !goesOn {
		return false
	}
	httpserver.Answering(w.Conn, false)
	if !w.skip() {
		return false
	}
	w.reset()
	return true
}

// reset forgets the request and its response.
func (w *worker) reset() {
	w.rc.Request.Reset()
	w.rc.Response.Reset()
	if w.long != nil {
		w.server.memory.Put(w.long)
		w.long = nil
	}
}

// refuse answers a request whose header cannot be read.
func (w *worker) refuse(err error) {
	status := http.StatusBadRequest
	switch {
	case errors.As(err, new(*fasthttp.ErrSmallBuffer)):
		status = http.StatusRequestHeaderFieldsTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		status = http.StatusRequestTimeout
	}
	httpserver.Unread(w.Conn)
	write(&w.rc, streamable.Refusal(status, http.StatusText(status)))
	w.rc.SetConnectionClose()
	_ = w.write() // the connection ends in any case
}

// respond writes the response. It returns false if the connection must end.
func (w *worker) respond() (goesOn bool) {
	request, response := &w.rc.Request, &w.rc.Response
	ends := request.Header.ConnectionClose() || response.ConnectionClose() || w.server.stops() || w.unread && !w.skippable()
	switch {
	case ends:
		response.SetConnectionClose()
	case !request.Header.IsHTTP11():
		response.Header.Set("Connection", "keep-alive")
	}
	if ends && w.unread {
		httpserver.Unread(w.Conn)
	}
	return w.write() == nil && !ends
}

// write writes the response with one system call, if there is no TLS.
func (w *worker) write() error {
	response := &w.rc.Response
	if response.SkipBody = w.rc.IsHead(); response.SkipBody {
		_ = response.CloseBodyStream() // fasthttp would write a line break in place of the body
	}
	if response.IsBodyStream() { // of a handler of the program that flushes
		out := bufio.NewWriter(w.Conn)
		if err := response.Write(out); err != nil {
			return err
		}
		return out.Flush()
	}
	body := response.Body()
	sends := !response.SkipBody && !bodiless(response.StatusCode())
	if sends || len(body) > 0 {
		response.Header.SetContentLength(len(body))
	}
	w.out = response.Header.AppendBytes(w.out[:0])
	if !sends {
		body = nil
	}
	if len(body) > short {
		_, err := httpserver.Together(w.Conn, w.out, body)
		return err
	}
	w.out = append(w.out, body...)
	_, err := w.Write(w.out)
	return err
}

// bodiless reports whether responses with a status have no body (RFC 9110 section 6.4.1).
func bodiless(status int) bool {
	return status < http.StatusOK || status == http.StatusNoContent || status == http.StatusNotModified
}

// short is the size in bytes of the longest body that is copied behind its header. Most answers have
// a few KB, half of them for the copy as text.
const short = 7 << 10

// Buffer implements streamable.BufferSource. A worker keeps memory for short answers only.
func (w *worker) Buffer(size int) []byte {
	if size > short {
		w.long = w.server.memory.Take(size)
		return w.long
	}
	if cap(w.body) < size {
		w.body = make([]byte, 0, short)
	}
	return w.body
}

// settle takes the memory of an answer back. The response is written before it is used again.
func (w *worker) settle(reply *streamable.Reply) *streamable.Reply {
	switch {
	case !reply.Borrowed:
	case w.long != nil:
		w.long = reply.Body
	default:
		w.body = reply.Body[:0]
	}
	return reply
}

// discard is a logger of fasthttp. What it would log, the client has caused.
type discard struct{}

// Printf implements fasthttp.Logger.
func (discard) Printf(string, ...any) {}

// untimed removes the read deadline before a handler of the program runs. A handler that hijacks the
// connection may set deadlines of its own at once, while next still returns.
func (w *worker) untimed() {
	w.timed = true
	w.expire(0)
}

// Read is for a handler of the program that hijacks the connection (http.Hijacker).
func (w *worker) Read(p []byte) (int, error) { return w.in.Read(p) }
