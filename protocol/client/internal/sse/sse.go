// Package sse reads server-sent events.
//
//	r := sse.NewReader(body, limit)
//	for {
//		event, err := r.Next()
//		if err != nil { ... io.EOF at the end, whatever was begun ... }
//	}
//
// It follows WHATWG HTML, "Interpreting an event stream", but for one thing: an
// event without data is returned too, because its id counts where streams are
// resumed (2025-11-25 basic/transports, SEP-1699). An event is returned as soon as
// its empty line has arrived, and an event that was cut off is never returned.
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

// ErrTooLong is the error of Next for an event beyond the limit.
var ErrTooLong = errors.New("sse: an event is too long")

// maxRetry bounds a reconnection time, which is any number of digits.
const maxRetry = 24 * time.Hour

// Event is one event. Data is the caller's.
type Event struct {
	Type string // "message" where the stream names none
	ID   string // the last one the stream named, if not with this event; "" : none
	Data []byte // lines joined by \n; empty where there were none
}

// Reader reads one stream.
type Reader struct {
	in     *bufio.Reader
	limit  int
	begun  bool // the first line has been read
	skipLF bool // the line before ended with \r: a \n belongs to it

	line     []byte
	size     int // of the event so far
	id       string
	retry    time.Duration
	hasRetry bool
}

// NewReader reads from in. limit bounds the bytes of one event, its comments included.
func NewReader(in io.Reader, limit int) *Reader {
	return &Reader{in: bufio.NewReader(in), limit: limit}
}

// Resume says that the stream goes on after the event with this id, which holds
// until the stream names another. It is for before the first Next.
func (r *Reader) Resume(id string) { r.id = id }

// Retry is the last reconnection time that the stream gave; false: it gave none.
// It counts from the moment its line has arrived.
func (r *Reader) Retry() (time.Duration, bool) { return r.retry, r.hasRetry }

// Next is the next event. After an error it must not be called again.
func (r *Reader) Next() (Event, error) {
	event, id := Event{Type: "message"}, r.id
	fields := false
	r.size = 0
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

// field splits a line at its first colon; a comment has no name.
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

// readLine is the next line without its end: \r\n, \n or \r. It never waits for
// the byte after a \r. The line is valid until the next call.
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

// first drops the byte order mark of the first line.
func (r *Reader) first(line []byte) []byte {
	if r.begun {
		return line
	}
	r.begun = true
	return bytes.TrimPrefix(line, []byte("\ufeff"))
}

// buffered is at least one byte that is there, after the \n of a \r\n.
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
