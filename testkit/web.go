package testkit

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// web sends the requests of a session over HTTP.
type web struct {
	next http.RoundTripper
	w    *tap
	dice *dice // nil if there are no faults
}

// RoundTrip records the frame of a request. The frames of the response are recorded as they are
// read.
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
		res, err = r.next.RoundTrip(req) //nolint:bodyclose // the caller closes it
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

// heardBody is the body of a response that records its frames: one frame, or the frames of its
// events.
type heardBody struct {
	io.ReadCloser
	exchange *exchange
	events   bool
	cut      func() bool // reports after each event with an id whether the stream breaks; nil if it never does
	line     []byte      // the unfinished line
	data     []byte      // of the unfinished event
	id       bool        // the event has an id, so the stream can be resumed after it
	broken   bool
	last     string // text that Read still returns after the stream has broken
	ended    bool
}

// soon is a line of an event stream that makes the client reconnect at once. Without it, each break
// would cost a test the second that clients wait by default.
const soon = "retry: 1\n"

// Read records the frames that it reads, until the stream is cut.
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
			_ = b.ReadCloser.Close() // so that the server, which may be writing, notices
			return i + 1, nil
		}
	}
	return n, err
}

// Close also records a frame that was not read to its end.
func (b *heardBody) Close() error {
	if !b.events {
		b.end()
	}
	return b.ReadCloser.Close()
}

// end records the frame of a response that is not a stream.
func (b *heardBody) end() {
	if !b.ended && len(b.data) > 0 && jsontext.Check(b.data, jsontext.Limits{}) == nil {
		b.exchange.note(false, b.data)
	}
	b.ended = true
}

// lineEnds handles a line of an event stream. It reports whether the stream breaks now.
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
		if jsontext.Check(b.data, jsontext.Limits{}) == nil { // other events are the carrier's own
			b.exchange.note(false, b.data)
		}
		breaks = b.id && b.cut != nil && b.cut()
		b.data, b.id = b.data[:0], false
	}
	return breaks
}
