package testkit

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// web are the requests of a session over HTTP.
type web struct {
	next http.RoundTripper
	w    *tap
	dice *dice // nil: no faults
}

// RoundTrip notes the frame of a request, and has those of the response noted as they
// are read.
func (r *web) RoundTrip(req *http.Request) (*http.Response, error) {
	var text []byte
	if req.Body != nil && req.Body != http.NoBody {
		var err error
		text, err = io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("reading a request: %w", err)
		}
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(text))
		if len(text) > 0 {
			r.w.exchange.note(true, text)
		}
	}
	if r.dice != nil {
		r.dice.late()
	}
	var res *http.Response
	err := r.w.owned(req.Context(), text, func() (err error) {
		res, err = r.next.RoundTrip(req) //nolint:bodyclose // it is handed on
		return err
	})
	if err != nil {
		return nil, err
	}
	body := &heardBody{ReadCloser: res.Body, exchange: r.w.exchange}
	body.events = strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream")
	if r.dice != nil && body.events {
		body.cut = r.w.faults.cut
	}
	res.Body = body
	return res, nil
}

// heardBody is a response whose frames are noted: one, or those of its events.
type heardBody struct {
	io.ReadCloser
	exchange *exchange
	events   bool
	cut      func() bool // asked after each event that can be resumed after; nil: never
	line     []byte      // that has not ended yet
	data     []byte      // of the event that has not ended yet
	id       bool        // it has one: the stream can be resumed after it
	broken   bool
	last     string // what a stream that is cut still says
	ended    bool
}

// soon is a line of an event stream: the client may come back at once. Without it each
// break would cost a test the second that clients wait on their own.
const soon = "retry: 1\n"

// Read hands on what it hears, until the stream is cut.
func (b *heardBody) Read(p []byte) (int, error) {
	if b.broken {
		n := copy(p, b.last)
		if b.last = b.last[n:]; n > 0 {
			return n, nil
		}
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadCloser.Read(p)
	if !b.events {
		b.data = append(b.data, p[:n]...)
		if err != nil {
			b.end()
		}
		return n, err
	}
	for i, c := range p[:n] {
		if c != '\n' {
			b.line = append(b.line, c)
			continue
		}
		if b.lineEnds() {
			b.broken, b.last = true, soon
			_ = b.ReadCloser.Close() // the server must see it: it may be writing
			return i + 1, nil
		}
	}
	return n, err
}

// Close notes what was not read to its end.
func (b *heardBody) Close() error {
	if !b.events {
		b.end()
	}
	return b.ReadCloser.Close()
}

// end is that of a response that is one frame, perhaps.
func (b *heardBody) end() {
	if !b.ended && len(b.data) > 0 && jsontext.Check(b.data, jsontext.Limits{}) == nil {
		b.exchange.note(false, b.data)
	}
	b.ended = true
}

// lineEnds takes a line of an event stream; true where the stream shall break.
func (b *heardBody) lineEnds() (breaks bool) {
	line := strings.TrimSuffix(string(b.line), "\r")
	b.line = b.line[:0]
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch {
	case name == "data":
		b.data = append(b.data, value...)
	case name == "id":
		b.id = value != ""
	case line == "":
		if jsontext.Check(b.data, jsontext.Limits{}) == nil { // others are the carrier's own
			b.exchange.note(false, b.data)
		}
		breaks = b.id && b.cut != nil && b.cut()
		b.data, b.id = b.data[:0], false
	}
	return breaks
}
