package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Limits of what is read: more than a server of the bench sends.
const (
	maxHead = 64 << 10
	maxBody = 64 << 20
	minRead = 16 << 10
)

// Answer is a response over HTTP. Its body is valid until the next one is read.
type Answer struct {
	Status  int
	Session string // of Mcp-Session-Id
	SSE     bool   // text/event-stream
	Close   bool   // the connection ends with it
	Body    []byte

	length  int // of the body; -1: to the end of the connection
	chunked bool
}

// Reader reads responses from a connection. Not safe for concurrent use.
type Reader struct {
	src        io.Reader
	buf        []byte
	start, end int    // what was read and not used
	body       []byte // of chunks, put together
}

// NewReader reads from src.
func NewReader(src io.Reader) *Reader {
	return &Reader{src: src, buf: make([]byte, minRead)}
}

// Reset goes on with another connection.
func (r *Reader) Reset(src io.Reader) { r.src, r.start, r.end = src, 0, 0 }

// Read reads a whole response.
func (r *Reader) Read(a *Answer) error {
	if err := r.Head(a); err != nil {
		return err
	}
	switch {
	case a.chunked:
		return r.chunks(a)
	case a.length < 0:
		return r.rest(a)
	}
	if err := r.fill(a.length); err != nil {
		return fmt.Errorf("reading a body of %d: %w", a.length, err)
	}
	a.Body = r.take(a.length)
	return nil
}

// Head reads a response up to its body.
func (r *Reader) Head(a *Answer) error {
	*a = Answer{length: -1}
	head, err := r.until([]byte("\r\n\r\n"), maxHead)
	if err != nil {
		return fmt.Errorf("reading a header: %w", err)
	}
	line, fields, _ := bytes.Cut(head, []byte("\r\n"))
	if bytes.ContainsAny(line, "\r\n") || len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) || len(line) > 12 && line[12] != ' ' {
		return fmt.Errorf("%.60q is not a status line", line)
	}
	if a.Status, err = strconv.Atoi(string(line[9:12])); err != nil || a.Status < 100 {
		return fmt.Errorf("%.60q is not a status line", line)
	}
	return a.fields(fields)
}

func (a *Answer) fields(head []byte) error {
	for len(head) > 0 {
		var line []byte
		line, head, _ = bytes.Cut(head, []byte("\r\n"))
		name, value, found := bytes.Cut(line, []byte(":"))
		if !found || bytes.ContainsAny(line, "\r\n") || bytes.ContainsAny(name, " \t") {
			return fmt.Errorf("%.60q is not a header field", line)
		}
		if err := a.field(name, bytes.TrimSpace(value)); err != nil {
			return err
		}
	}
	if a.Status < 200 || a.Status == 204 || a.Status == 304 {
		a.length, a.chunked = 0, false
	}
	a.Close = a.Close || a.length < 0 && !a.chunked
	return nil
}

func (a *Answer) field(name, value []byte) error {
	switch {
	case is(name, "content-length"):
		n, err := strconv.ParseUint(string(value), 10, 63)
		if err != nil || n > maxBody || a.length >= 0 && a.length != int(n) {
			return fmt.Errorf("Content-Length %.60q", value)
		}
		a.length = int(n)
	case is(name, "transfer-encoding"):
		if !is(value, "chunked") {
			return fmt.Errorf("Transfer-Encoding %.60q", value)
		}
		a.chunked = true
	case is(name, "content-type"):
		a.SSE = bytes.HasPrefix(value, []byte("text/event-stream"))
	case is(name, "mcp-session-id"):
		a.Session = string(value)
	case is(name, "connection"):
		a.Close = is(value, "close")
	}
	return nil
}

// is compares without regard to case; text is in lower case.
func is(value []byte, text string) bool {
	return len(value) == len(text) && bytes.EqualFold(value, []byte(text))
}

var errChunk = errors.New("broken chunk")

// chunks puts the body together. Trailers are read over.
func (r *Reader) chunks(a *Answer) error {
	r.body = r.body[:0]
	for {
		size, err := r.chunkSize()
		if err != nil {
			return fmt.Errorf("reading a chunk: %w", err)
		}
		if size == 0 {
			break
		}
		if err := r.fill(size + 2); err != nil {
			return fmt.Errorf("reading a chunk of %d: %w", size, err)
		}
		chunk := r.take(size + 2)
		if chunk[size] != '\r' || chunk[size+1] != '\n' || len(r.body)+size > maxBody {
			return errChunk
		}
		r.body = append(r.body, chunk[:size]...)
	}
	a.Body = r.body
	for {
		line, err := r.until([]byte("\r\n"), maxHead)
		if err != nil || len(line) == 0 {
			return err
		}
	}
}

func (r *Reader) chunkSize() (int, error) {
	line, err := r.until([]byte("\r\n"), 256)
	if err != nil {
		return 0, err
	}
	text, _, _ := bytes.Cut(line, []byte(";"))
	size, err := strconv.ParseUint(string(bytes.TrimRight(text, " \t")), 16, 32)
	if err != nil || size > maxBody {
		return 0, errChunk
	}
	return int(size), nil
}

// rest reads to the end of the connection.
func (r *Reader) rest(a *Answer) error {
	for {
		err := r.more()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			a.Body = r.take(r.end - r.start)
			return nil
		}
		if err != nil {
			return err
		}
		if r.end-r.start > maxBody {
			return errors.New("the body is too long")
		}
	}
}

// until reads up to sep, which it drops, but no more than limit.
func (r *Reader) until(sep []byte, limit int) ([]byte, error) {
	looked := 0
	for {
		if i := bytes.Index(r.buf[r.start+looked:r.end], sep); i >= 0 && looked+i <= limit {
			part := r.take(looked + i + len(sep))
			return part[:len(part)-len(sep)], nil
		}
		if r.end-r.start > limit {
			return nil, errors.New("too long")
		}
		looked = max(0, r.end-r.start-len(sep)+1)
		if err := r.more(); err != nil {
			return nil, err
		}
	}
}

// fill reads until there are n bytes.
func (r *Reader) fill(n int) error {
	for r.end-r.start < n {
		if err := r.more(); err != nil {
			return err
		}
	}
	return nil
}

// take hands out n bytes, valid until more is read.
func (r *Reader) take(n int) []byte {
	part := r.buf[r.start : r.start+n]
	r.start += n
	return part
}

// more reads once. What was read before and not used is kept.
func (r *Reader) more() error {
	if r.start == r.end {
		r.start, r.end = 0, 0
	}
	if len(r.buf)-r.end < minRead/4 {
		r.room()
	}
	n, err := r.src.Read(r.buf[r.end:])
	r.end += n
	if n > 0 {
		return nil
	}
	if err == nil {
		return io.ErrNoProgress
	}
	if errors.Is(err, io.EOF) && r.end > r.start {
		return io.ErrUnexpectedEOF
	}
	return err
}

// room moves what is unused to the start, or doubles the buffer.
func (r *Reader) room() {
	into := r.buf
	if r.end-r.start > len(r.buf)/2 {
		into = make([]byte, 2*len(r.buf))
	}
	r.end = copy(into, r.buf[r.start:r.end])
	r.start, r.buf = 0, into
}
