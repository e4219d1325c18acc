package fiberhttp

import (
	"bytes"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/kagami-mcp/kagami/transport/internal/httpserver"
	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// sink writes an HTTP/1 response to a connection. It has a buffer only while it writes.
//
// The endpoint calls it from one goroutine at a time, so it needs no lock. keeps and modern do not
// change. After an error it writes nothing more, because a part of a chunk may have been sent.
type sink struct {
	conn      net.Conn
	timeout   time.Duration
	buffers   *sync.Pool // pool of *buffer
	inherited []byte     // header lines that middleware has set
	modern    bool       // HTTP/1.1
	keeps     bool       // the connection can be used again after the body
	opened    bool
	chunked   bool
	failed    bool
	out       *buffer // bytes to be written; may be nil
}

// buffer is text that is being composed.
type buffer struct{ text []byte }

// largest is the largest capacity, in bytes, of a buffer that is reused.
const largest = 64 << 10

// begin returns the buffer that the next flush writes.
func (s *sink) begin() *buffer {
	if s.out == nil {
		s.out, _ = s.buffers.Get().(*buffer)
	}
	if s.out == nil {
		s.out = new(buffer)
	}
	return s.out
}

func (s *sink) flush() error {
	out := s.out
	if out == nil {
		return net.ErrClosed
	}
	s.out = nil
	err := net.ErrClosed
	if !s.failed {
		_, err = httpserver.Write(s.conn, out.text, s.timeout)
	}
	s.failed = err != nil
	if out.text = out.text[:0]; cap(out.text) <= largest {
		s.buffers.Put(out)
	}
	return err
}

// Open buffers the header, so that it is sent in one packet with the first part of the body.
func (s *sink) Open(status int, header []streamable.Field, length int) error {
	s.chunked, s.opened = length < 0 && s.modern, true
	b := s.begin()
	b.text = append(b.text, "HTTP/1.1 "...)
	b.text = append(strconv.AppendInt(b.text, int64(status), 10), ' ')
	b.line(http.StatusText(status))
	b.inherit(s.inherited, header)
	s.inherited = nil
	for _, f := range header {
		b.field(f.Name, f.Value)
	}
	switch {
	case s.chunked:
		b.field("Transfer-Encoding", "chunked")
	case length >= 0:
		b.field("Content-Length", strconv.Itoa(length))
	}
	if !s.keeps {
		b.field("Connection", "close")
	}
	b.line("")
	if length == 0 {
		return s.flush()
	}
	return nil
}

// Write sends a part of the body as one chunk.
func (s *sink) Write(part []byte) error {
	s.chunk(part)
	return s.flush()
}

// Last sends a part of the body as the last chunk, together with the end of the body.
func (s *sink) Last(part []byte) error {
	s.readNoMore()
	s.chunk(part)
	s.end()
	return s.flush()
}

func (s *sink) chunk(part []byte) {
	b := s.begin()
	if s.chunked {
		b.text = strconv.AppendInt(b.text, int64(len(part)), 16)
		b.line("")
	}
	b.text = append(b.text, part...)
	if s.chunked {
		b.line("")
	}
}

// end appends the empty last chunk, unless the body has ended (RFC 9112 §7.1).
func (s *sink) end() {
	if s.chunked {
		b := s.begin()
		b.text = append(b.text, "0\r\n\r\n"...)
	}
	s.chunked = false
}

// readNoMore ends the Read that waits for the client to disconnect. It is called before the end of
// the body is written, because the client may then send its next request. A Read of an in-memory
// connection, unlike a Read of a socket, notices the deadline only when data arrives.
func (s *sink) readNoMore() {
	_ = s.conn.SetReadDeadline(time.Unix(1, 0)) // fails only on a closed connection
}

// finish ends the body, unless it has ended.
func (s *sink) finish() {
	s.readNoMore()
	s.end()
	_ = s.flush() // the last write: there is no caller that its error matters to
}

// inherited returns the header fields that middleware has set, except those that describe a body.
// It copies them, because fasthttp reuses its memory.
func inherited(h *fasthttp.ResponseHeader) []byte {
	var b buffer
	for name, value := range h.All() {
		if !describes(name) {
			b.field(string(name), string(value))
		}
	}
	return b.text
}

func describes(name []byte) bool {
	for _, own := range []string{
		"Content-Type", "Content-Length", "Content-Encoding", "Transfer-Encoding", "Connection", "Trailer", "Etag",
	} {
		if strings.EqualFold(string(name), own) {
			return true
		}
	}
	return false
}

// inherit appends the fields of middleware, except those that the response sets itself. It adds a
// Date if there is none.
func (b *buffer) inherit(lines []byte, header []streamable.Field) {
	dated := false
	for line := range bytes.Lines(lines) {
		name, _, _ := strings.Cut(string(line), ":")
		dated = dated || strings.EqualFold(name, "Date")
		if !replaced(name, header) {
			b.text = append(b.text, line...)
		}
	}
	if !dated {
		b.text = append(b.text, "Date: "...)
		b.text = fasthttp.AppendHTTPDate(b.text, time.Now())
		b.line("")
	}
}

func replaced(name string, header []streamable.Field) bool {
	for _, f := range header {
		if f.Name != "Vary" && strings.EqualFold(name, f.Name) {
			return true
		}
	}
	return false
}

func (b *buffer) field(name, value string) {
	b.text = append(append(b.text, name...), ": "...)
	b.line(value)
}

// line appends text and a line break.
func (b *buffer) line(text string) { b.text = append(append(b.text, text...), "\r\n"...) }
