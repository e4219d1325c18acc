package testkit

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
	"github.com/kagami-mcp/kagami/transport"
)

// exchange holds the frames that a session has sent and received on all of its connections, as its
// client saw them. Every connection calls note for each frame, and the oldest frames are dropped
// beyond exchangeBytes. mu guards the frames.
type exchange struct {
	mu      sync.Mutex // guards the fields below
	frames  []frame
	size    int // of all texts
	dropped int // number of dropped frames; the oldest are dropped first

	speaker *atomic.Pointer[exchange] // of the testServer: the exchange that sent last
}

// frame is one JSON text.
type frame struct {
	sent bool
	text []byte
}

// Bounds of the kept frames, and of the log of a failed test.
const (
	exchangeBytes = 16 << 20
	lastFrames    = 2
	shownFrames   = 40 // with -v
	shownBytes    = 2000
)

// note keeps a copy of a frame.
func (e *exchange) note(sent bool, text []byte) {
	if sent {
		e.speaker.Store(e)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.frames = append(e.frames, frame{sent, slices.Clone(text)})
	for e.size += len(text); e.size > exchangeBytes; e.dropped++ {
		e.size -= len(e.frames[0].text)
		e.frames = e.frames[1:]
	}
}

// all returns the frames that are kept, and how many were dropped.
func (e *exchange) all() (frames []frame, dropped int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.frames), e.dropped
}

// lastSent returns the client's latest request, for messages. Answers to questions of the
// server are not requests.
func (e *exchange) lastSent() string {
	frames, _ := e.all()
	for _, f := range slices.Backward(frames) {
		if text, ok := f.request(); ok {
			return text
		}
	}
	return "nothing"
}

// lastGot returns the server's latest frame, for messages.
func (e *exchange) lastGot() string {
	frames, _ := e.all()
	for _, f := range slices.Backward(frames) {
		if !f.sent {
			return strings.TrimPrefix(f.String(), "<- ")
		}
	}
	return "nothing"
}

// request returns the method and the params of a request or notification of the client,
// without _meta.
func (f frame) request() (text string, ok bool) {
	if !f.sent || jsontext.Check(f.text, jsontext.Limits{}) != nil {
		return "", false
	}
	msg, fault := jsonrpc.Decode(f.text)
	if fault != nil || msg.Method == "" {
		return "", false
	}
	params := []byte("{")
	for key, value := range jsontext.Members(msg.Params) {
		if !key.Is("_meta") {
			params = appendMember(params, key.String(), value)
		}
	}
	return msg.Method + " " + frame{text: append(params, '}')}.bounded(), true
}

// shown returns the last frames, for the log of a test that failed: two, and more if verbose.
func (e *exchange) shown(verbose bool) string {
	frames, dropped := e.all()
	most, hint := shownFrames, ""
	if !verbose {
		most, hint = lastFrames, "; go test -v shows more"
	}
	if more := len(frames) - most; more > 0 {
		frames, dropped = frames[more:], dropped+more
	}
	var b strings.Builder
	if dropped > 0 {
		fmt.Fprintf(&b, "(%d frames before%s)\n", dropped, hint)
	}
	for _, f := range frames {
		b.WriteString(f.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// String returns the frame behind an arrow in its direction.
func (f frame) String() string {
	if f.sent {
		return "-> " + f.bounded()
	}
	return "<- " + f.bounded()
}

// bounded returns the text, cut if it is long.
func (f frame) bounded() string {
	if more := len(f.text) - shownBytes; more > 0 {
		return fmt.Sprintf("%s... (%d bytes more)", f.text[:shownBytes], more)
	}
	return string(f.text)
}

// tap is attached to all connections of a session. It records their frames and adds the faults.
type tap struct {
	exchange *exchange
	faults   *faults // nil if there are none
	owned    owner
}

// owner runs fn. The goroutines that fn starts belong to the session, and to the frame that was
// sent.
type owner func(ctx context.Context, sent []byte, fn func() error) error

// conn returns c with its frames recorded, and with faults if there are any.
func (w *tap) conn(c transport.Conn) transport.Conn {
	if w.faults != nil {
		c = &faultyConn{Conn: c, dice: w.faults.roll()}
	}
	return &heard{c, w}
}

// heard is a connection that records its frames.
type heard struct {
	transport.Conn
	w *tap
}

// Write records the frame first, because the answer comes after it.
func (h *heard) Write(ctx context.Context, frame []byte) error {
	h.w.exchange.note(true, bytes.TrimRight(frame, "\n"))
	return h.w.owned(ctx, frame, func() error { return h.Conn.Write(ctx, frame) })
}

// Read records the frame that it returns.
func (h *heard) Read(ctx context.Context) ([]byte, error) {
	frame, err := h.Conn.Read(ctx)
	if err == nil {
		h.w.exchange.note(false, frame)
	}
	return frame, err
}
