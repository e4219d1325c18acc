package nethttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
	"github.com/kagami-mcp/kagami/transport/internal/legacysse"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// Handler returns the endpoint of Streamable HTTP, for any path. The handlers' context has
// the values of the request's.
func Handler(host transport.Host, opts ...Option) http.Handler {
	c := newConfig(opts)
	c.Mounted(host)
	f := httpserver.New(host, c.Config.Config)
	return &handler{config: c, limit: f.Limit(), door: f.MainOf(&c.Config)}
}

// SSE returns the endpoint of HTTP+SSE, for any path: clients open their stream with GET,
// and post to the same path with the query that they are told there.
func SSE(host transport.Host, opts ...Option) http.Handler {
	c := newConfig(opts)
	c.Mounted(host)
	f := httpserver.New(host, c.Config.Config)
	return &handler{config: c, limit: f.Limit(), door: f.Old(legacysse.Both, "")}
}

// handler is one URL.
type handler struct {
	*config
	limit  int
	door   httpserver.Endpoint
	memory httpserver.Memory // of answers
	warned sync.Once         // of middleware that holds responses back
}

// ServeHTTP answers one request.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := newSink(w, r, h.config)
	defer s.recovered()
	// The program's server may have no deadline for the body, or one that is too near.
	_ = s.control.SetReadDeadline(time.Now().Add(h.ReadTimeout))
	if r.ProtoMajor > 1 { // where its WriteTimeout ends a stream on which nothing is being written
		_ = s.control.SetWriteDeadline(time.Time{})
	}
	reply := h.answer(s, r)
	if reply.Stream == nil {
		s.settle(s.whole(reply)) // a client that is gone does not matter any more
		return
	}
	if r.ProtoMajor == 1 && reply.Stream.LongLived() { // then net/http ends the context at the end of what the client sends
		s.ctx = context.WithoutCancel(s.ctx)
	}
	defer s.interruptible()()
	reply.Stream.Serve(s.ctx, s)
}

func (h *handler) answer(s *sink, r *http.Request) *streamable.Reply {
	asked := readRequest(r)
	if asked.Whole = !parts(s.w); asked.Whole {
		h.warned.Do(func() {
			_, _ = fmt.Fprintf(os.Stderr, "nethttp: %q has no streams, so that there is no progress and nobody can be asked live:"+
				" the http.ResponseWriter that middleware made, a %T, has neither Flush nor Unwrap\n", r.URL.Path, s.w)
		})
	}
	visit, refused := h.door(r.Context(), asked)
	if refused != nil {
		return refused
	}
	if r.Method != http.MethodPost {
		s.patient()
		return visit.Serve(nil)
	}
	if r.ContentLength > int64(h.limit) {
		return visit.TooLarge(h.limit)
	}
	body, err := io.ReadAll(http.MaxBytesReader(s.w, r.Body, int64(h.limit)))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return visit.TooLarge(h.limit)
	}
	if err != nil {
		return visit.Unreadable()
	}
	answering(r)
	s.patient()
	s.memory, asked.Buffers = &h.memory, s
	reply := visit.Serve(body)
	asked.Buffers = nil // whoever keeps the request must not keep the response
	return reply
}

// parts says whether a response can be written in parts, as http.ResponseController finds out.
// Middleware whose writer has no way to flush, such as http.TimeoutHandler, or a recorder of the
// status without Unwrap, keeps it until it ends.
func parts(w http.ResponseWriter) bool {
	for {
		switch under := w.(type) {
		case http.Flusher, interface{ FlushError() error }:
			return true
		case interface{ Unwrap() http.ResponseWriter }:
			w = under.Unwrap()
		default:
			return false
		}
	}
}

func readRequest(r *http.Request) *httpserver.Request {
	return &httpserver.Request{
		Request: streamable.Request{
			Method: r.Method, Host: r.Host, Path: r.URL.EscapedPath(), Fields: transport.HeaderFields(r.Header), RemoteAddr: r.RemoteAddr,
		},
		Query: r.URL.RawQuery,
	}
}

// sink writes a response.
type sink struct {
	w       http.ResponseWriter
	control *http.ResponseController
	ctx     context.Context //nolint:containedctx // the request's: it ends when the client leaves
	timeout time.Duration
	opened  bool
	memory  *httpserver.Memory
	lent    *httpserver.Body // memory that was lent for the answer; nil: none
	left    atomic.Bool      // the client has disconnected while a stream was served
}

func newSink(w http.ResponseWriter, r *http.Request, c *config) *sink {
	return &sink{w: w, control: http.NewResponseController(w), ctx: r.Context(), timeout: c.WriteTimeout}
}

// Buffer implements streamable.BufferSource.
func (s *sink) Buffer(size int) []byte {
	s.lent = s.memory.Take(size)
	return s.lent.Bytes
}

// settle gives the lent memory back when the answer is written. It does not after a failed Write,
// because HTTP/2 may still read the memory, and must not send a part of another answer.
func (s *sink) settle(failed error) {
	if s.lent != nil && failed == nil {
		_ = s.lent.Close() // it cannot fail
	}
}

// patient removes the read deadline of the body: net/http would take its expiry for a disconnected
// client.
func (s *sink) patient() { _ = s.control.SetReadDeadline(time.Time{}) }

// interruptible makes a blocked write end when the client disconnects. The returned function must be
// called before the request ends.
func (s *sink) interruptible() (done func()) {
	over := make(chan struct{})
	stop := context.AfterFunc(s.ctx, func() {
		defer close(over)
		s.left.Store(true)
		_ = s.control.SetWriteDeadline(time.Unix(1, 0))
	})
	return func() {
		if !stop() {
			<-over
		}
	}
}

// Open writes the header, which leaves with the first part of the body.
func (s *sink) Open(status int, header []streamable.Field, length int) error {
	s.opened = true
	h := s.w.Header()
	for _, f := range header {
		if f.Name == "Vary" {
			h.Add(f.Name, f.Value) // middleware has its own reasons
			continue
		}
		h.Set(f.Name, f.Value)
	}
	if length > 0 && h.Get("Content-Encoding") == "" { // else middleware makes it another length
		h.Set("Content-Length", strconv.Itoa(length))
	}
	s.w.WriteHeader(status)
	return nil
}

// Write sends a part at once, as long as the client takes a piece of it within the timeout.
// No deadline is left behind: HTTP/2 would end the stream by it, and HTTP/1 a later
// response on the same connection.
func (s *sink) Write(part []byte) error {
	bounded := false
	for piece := range slices.Chunk(part, httpserver.Piece) {
		if s.left.Load() {
			return net.ErrClosed
		}
		bounded = s.control.SetWriteDeadline(time.Now().Add(s.timeout)) == nil
		if _, err := s.w.Write(piece); err != nil {
			return err
		}
	}
	err := s.flush()
	if err == nil && bounded {
		_ = s.control.SetWriteDeadline(time.Time{})
	}
	return err
}

// flush does not fail under middleware that cannot.
func (s *sink) flush() error {
	if err := s.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// whole writes a reply that is not a stream.
func (s *sink) whole(reply *streamable.Reply) error {
	if err := s.Open(reply.Status, reply.Header, len(reply.Body)); err != nil || len(reply.Body) == 0 {
		return err
	}
	return s.Write(reply.Body)
}

// recovered ends a request on which something panicked: with an error if there is room
// for one, else by breaking the response off. It is to be deferred.
func (s *sink) recovered() {
	value := recover()
	if value == nil {
		return
	}
	reply := httpserver.Broken(value)
	if s.opened {
		panic(http.ErrAbortHandler) // the only way to say so
	}
	_ = s.whole(reply)
}
