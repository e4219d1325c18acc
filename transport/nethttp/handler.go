package nethttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/hostcall"
	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
	"github.com/kagami-mcp/kagami/transport/internal/legacysse"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// Handler returns the endpoint of Streamable HTTP, for any path. The handlers' context has the
// values of the request's context.
func Handler(host transport.Host, opts ...Option) http.Handler {
	c := newConfig(opts)
	c.Mounted(host)
	f := httpserver.New(host, c.Config.Config)
	return &handler{config: c, log: f.Log(), limit: f.Limit(), door: f.MainOf(&c.Config)}
}

// SSE returns the endpoint of HTTP+SSE, for any path. Clients open their stream with GET. They post
// to the same path, with the query that the first event of the stream contains. Stateless and
// WithoutHTTPSSE have no effect on this endpoint.
func SSE(host transport.Host, opts ...Option) http.Handler {
	c := newConfig(opts)
	c.Mounted(host)
	f := httpserver.New(host, c.Config.Config)
	return &handler{config: c, log: f.Log(), limit: f.Limit(), door: f.Old(legacysse.Both, "")}
}

// handler serves one URL.
type handler struct {
	*config
	log    *hostcall.Log
	limit  int
	door   httpserver.Endpoint
	memory httpserver.Memory // for answers
	warned sync.Once         // for the warning about middleware that cannot flush
}

// ServeHTTP answers one request.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := newSink(w, r, h.config)
	defer s.recovered(h.log)
	// The program's server may have no deadline for the body, or a deadline that is too near.
	_ = s.control.SetReadDeadline(time.Now().Add(h.ReadTimeout))
	if r.ProtoMajor > 1 { // on HTTP/2 the server's WriteTimeout would also end an idle stream
		_ = s.control.SetWriteDeadline(time.Time{})
	}
	reply := h.answer(s, r)
	if reply.Stream == nil {
		s.settle(s.whole(reply)) // the client may have disconnected, which does not matter here
		return
	}
	if r.ProtoMajor == 1 && reply.Stream.LongLived() { // on HTTP/1 net/http cancels the context when the client closes only its sending half
		s.ctx = context.WithoutCancel(s.ctx)
	}
	defer s.interruptible()()
	reply.Stream.Serve(s.ctx, s)
}

func (h *handler) answer(s *sink, r *http.Request) *streamable.Reply {
	asked := readRequest(r)
	if asked.Whole = !parts(s.w); asked.Whole {
		h.warned.Do(func() {
			h.log.Warn("there are no streams, so progress and live questions do not work: the http.ResponseWriter of"+
				" middleware has neither Flush nor Unwrap", fmt.Sprintf("%q gets a %T", r.URL.Path, s.w))
		})
	}
	visit, refused := h.door(r.Context(), asked)
	if refused != nil {
		return refused
	}
	if r.Method != http.MethodPost {
		if r.ContentLength != 0 { // net/http would read the body before it writes the header, then without a deadline
			if _, err := io.Copy(io.Discard, http.MaxBytesReader(s.w, r.Body, int64(h.limit))); err != nil {
				return visit.Unreadable()
			}
		}
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
	asked.Buffers = nil // the request may be kept, but the response must not be
	return reply
}

// parts reports whether a response can be written in parts, as http.ResponseController finds out.
// If the writer of middleware has neither a way to flush nor Unwrap, it keeps the response until
// the end.
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
			Method: r.Method, Host: r.Host, Path: pathOf(r), Fields: transport.HeaderFields(r.Header), RemoteAddr: r.RemoteAddr,
		},
		Query: r.URL.RawQuery,
	}
}

// pathOf returns the path of the client's URL, also below http.StripPrefix, which changes r.URL.
func pathOf(r *http.Request) string {
	if !strings.HasPrefix(r.RequestURI, "/") { // an absolute URI, or none in a test
		return r.URL.EscapedPath()
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	return path
}

// sink writes a response. It implements streamable.Sink.
type sink struct {
	w       http.ResponseWriter
	control *http.ResponseController
	ctx     context.Context //nolint:containedctx // context of the request; ends when the client disconnects
	timeout time.Duration
	opened  bool
	memory  *httpserver.Memory
	lent    []byte      // memory that was lent for the answer; may be nil
	left    atomic.Bool // the client has disconnected while a stream was served
}

func newSink(w http.ResponseWriter, r *http.Request, c *config) *sink {
	return &sink{w: w, control: http.NewResponseController(w), ctx: r.Context(), timeout: c.WriteTimeout}
}

// Buffer implements streamable.BufferSource.
func (s *sink) Buffer(size int) []byte {
	s.lent = s.memory.Take(size)
	return s.lent
}

// settle returns the lent memory when the answer was written. After a failed Write it does not,
// because HTTP/2 may still read the memory and would send a part of another answer.
func (s *sink) settle(failed error) {
	if s.lent != nil && failed == nil {
		s.memory.Put(s.lent)
	}
}

// patient removes the read deadline of the body. When it expires, net/http would report a
// disconnected client.
func (s *sink) patient() { _ = s.control.SetReadDeadline(time.Time{}) }

// interruptible makes a blocked write end when the client disconnects. The caller must call done
// before the request ends.
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

// Open writes the header, which is sent with the first part of the body.
func (s *sink) Open(status int, header []streamable.Field, length int) error {
	s.opened = true
	h := s.w.Header()
	for _, f := range header {
		if f.Name == "Vary" {
			h.Add(f.Name, f.Value) // keeps the values of middleware
			continue
		}
		h.Set(f.Name, f.Value)
	}
	if length > 0 && h.Get("Content-Encoding") == "" { // with an encoding, middleware changes the length
		h.Set("Content-Length", strconv.Itoa(length))
	}
	s.w.WriteHeader(status)
	return nil
}

// Write sends a part at once. It fails if the client does not read a piece of it within the
// timeout. It removes its deadline at the end: otherwise the deadline would end an HTTP/2 stream,
// or a later HTTP/1 response on the same connection.
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

// flush flushes the response. It does not fail if the writer of middleware cannot flush.
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

// recovered must be deferred. It recovers and logs a panic, and answers with an error. If the
// response has begun, recovered aborts it instead.
func (s *sink) recovered(log *hostcall.Log) {
	value := recover()
	if value == nil {
		return
	}
	reply := httpserver.Broken(log, value)
	if s.opened {
		panic(http.ErrAbortHandler) // net/http then closes the connection
	}
	_ = s.whole(reply)
}
