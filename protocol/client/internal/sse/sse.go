// Package sse reads server-sent events.
//
//	r := sse.NewReader(body, limit)
//	for {
//		event, err := r.Next()
//		if err != nil { ... io.EOF at the end of the stream, even within an event ... }
//	}
//
// It follows WHATWG HTML, "Interpreting an event stream", with one exception: it also returns an
// event without data. The id of such an event matters when a stream is resumed (2025-11-25
// basic/transports, SEP-1699). An event is returned as soon as its empty line has arrived. An event
// that was cut off is never returned.
//
// A Reader is for one goroutine. It does not reconnect.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"time"
)

// ErrTooLong is the error of Next for an event that exceeds the limit.
var ErrTooLong = errors.New("sse: an event is too long")

// keptLine is the largest buffer in bytes that a Reader keeps while it waits for an event.
const keptLine = 64 << 10

// maxRetry limits the reconnection time, which may have any number of digits.
const maxRetry = 24 * time.Hour

// Event is one event. The caller owns Data.
type Event struct {
	Type string // "message" if the stream does not name one
	ID   string // the last id in the stream so far; "" if there was none
	Data []byte // lines joined by \n; empty if there were none
}

// Reader reads one stream.
type Reader struct {
	in     *bufio.Reader
	limit  int
	begun  bool // the first line has been read
	skipLF bool // the last line ended with \r, so a \n belongs to it

	line     []byte
	size     int // size of the event so far
	id       string
	retry    time.Duration
	hasRetry bool
}

// NewReader returns a Reader of in. limit is the maximum size of one event in bytes, with its
// comments.
func NewReader(in io.Reader, limit int) *Reader {
	return &Reader{in: bufio.NewReader(in), limit: limit}
}

// Resume sets the id of the last event before this stream. The id is valid until the stream names
// another. Call it before the first Next.
func (r *Reader) Resume(id string) { r.id = id }

// Retry returns the last reconnection time in the stream. It returns false if there was none. The
// time is valid as soon as its line has arrived.
func (r *Reader) Retry() (time.Duration, bool) { return r.retry, r.hasRetry }

// Next returns the next event. After an error it must not be called again.
func (r *Reader) Next() (Event, error) {
	event, id := Event{Type: "message"}, r.id
	fields := false
	r.size = 0
	if cap(r.line) > keptLine {
		r.line = nil
	}
	for {
		line, err := r.readLine()
		if err != nil {
			return Event{}, err
		}
		if len(line) == 0 {
			r.id = id
			if !fields {
				r.size = 0
				continue
			}
			event.ID, event.Data = id, bytes.TrimSuffix(event.Data, []byte{'\n'})
			return event, nil
		}
		name, value := field(line)
		switch string(name) {
		case "":
			continue // a comment
		case "event":
			if event.Type = string(value); event.Type == "" {
				event.Type = "message"
			}
		case "data":
			event.Data = append(append(event.Data, value...), '\n')
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				id = string(value)
			}
		case "retry":
			r.reconnect(value)
		}
		fields = true
	}
}

// field splits a line at its first colon. The name of a comment is empty.
func field(line []byte) (name, value []byte) {
	name, value, _ = bytes.Cut(line, []byte{':'})
	return name, bytes.TrimPrefix(value, []byte{' '})
}

func (r *Reader) reconnect(digits []byte) {
	var ms time.Duration
	for _, c := range digits {
		if c < '0' || c > '9' {
			return
		}
		ms = min(ms*10+time.Duration(c-'0'), maxRetry/time.Millisecond)
	}
	if len(digits) > 0 {
		r.retry, r.hasRetry = ms*time.Millisecond, true
	}
}

// readLine returns the next line without its end, which is \r\n, \n or \r. It never waits for the
// byte after a \r. The line is valid until the next call.
func (r *Reader) readLine() ([]byte, error) {
	r.line = r.line[:0]
	for {
		chunk, err := r.buffered()
		if err != nil {
			return nil, err
		}
		end := bytes.IndexAny(chunk, "\r\n")
		taken := end + 1
		if end < 0 {
			end, taken = len(chunk), len(chunk)
		}
		if r.size += taken; r.size > r.limit {
			return nil, ErrTooLong
		}
		complete := end < taken
		r.line = append(r.line, chunk[:end]...)
		r.skipLF = complete && chunk[end] == '\r'
		if _, err := r.in.Discard(taken); err != nil {
			return nil, err
		}
		if complete {
			return r.first(r.line), nil
		}
	}
}

// first removes the byte order mark of the first line.
func (r *Reader) first(line []byte) []byte {
	if r.begun {
		return line
	}
	r.begun = true
	return bytes.TrimPrefix(line, []byte("\ufeff"))
}

// buffered returns the bytes that are buffered, and waits for at least one. It skips the \n of a
// \r\n.
func (r *Reader) buffered() ([]byte, error) {
	for {
		first, err := r.in.Peek(1)
		if err != nil {
			return nil, err
		}
		if r.skipLF && first[0] == '\n' {
			r.skipLF = false
			if _, err := r.in.Discard(1); err != nil {
				return nil, err
			}
			continue
		}
		return r.in.Peek(r.in.Buffered())
	}
}
