package transporttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

// patience ends a test that would hang. A successful test does not wait for it.
var patience = time.Minute // shorter in the tests of this package

// reply is one frame that the client read.
type reply struct {
	ID     int                   `json:"id"`
	Method string                `json:"method"`
	Params note                  `json:"params"`
	Result struct{ Text string } `json:"result"`
	Error  json.RawMessage       `json:"error"`
}

// client drives one connection. It keeps every frame that it read, to check at the end whether the
// carrier has reused the bytes.
type client struct {
	t      testing.TB
	ctx    context.Context //nolint:containedctx // the test's context, for every call
	conn   transport.Conn
	host   *host
	sent   atomic.Value // the latest request, for messages; a string
	frames [][]byte
	copies [][]byte
	stuck  bool // Close did not return
}

// dial opens a connection. After the test, when the carrier has ended, the host's faults are
// reported.
func dial(t testing.TB, s setup) *client {
	t.Helper()
	h := newHost()
	h.concurrent = s.requests
	t.Cleanup(func() { h.check(t) }) // runs after the cleanup that open registers
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	c := &client{t: t, ctx: ctx, conn: s.open(t, h), host: h}
	t.Cleanup(c.finish) // runs before the cleanup that open registers
	return c
}

// hangUp closes the connection. If Close does not return in time, hangUp ends the test.
func (c *client) hangUp() {
	c.t.Helper()
	closed := make(chan error, 1)
	go func() { closed <- c.conn.Close() }()
	c.stuck = true
	err := within(c.t, "Close to return", closed)
	c.stuck = false
	if err != nil {
		c.t.Errorf("Close: %v", err)
	}
}

func (c *client) finish() {
	if c.stuck {
		return
	}
	c.hangUp()
	for i, frame := range c.frames {
		if !bytes.Equal(frame, c.copies[i]) {
			c.t.Errorf("frame %d, which Read had given away, was overwritten: %.80q", i, frame)
		}
	}
}

// check waits until every accepted frame was served. A carrier that has ended must have served all
// of them.
func (h *host) check(t testing.TB) {
	t.Helper()
	h.sent(t)
	for _, fault := range h.problems() {
		t.Error(fault)
	}
	if accepted, ended := h.accepted.Load(), h.ended.Load(); accepted != ended {
		t.Errorf("%d frames were accepted and %d exchanges have ended, although the carrier has", accepted, ended)
	}
}

// sent waits until the frames outside of exchanges are sent.
func (h *host) sent(t testing.TB) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		h.later.Wait()
		close(done)
	}()
	within(t, "Send to return, outside of an exchange", done)
}

// send writes one request, and overwrites the buffer as soon as Write returns.
func (c *client) send(id int, method string, s script) {
	c.t.Helper()
	if err := c.write(id, method, s); err != nil {
		c.t.Fatalf("Write(%s): %v", method, err)
	}
}

func (c *client) write(id int, method string, s script) error {
	params, err := json.Marshal(s)
	if err != nil {
		return err
	}
	frame := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
	kept := bytes.Clone(frame)
	c.sent.Store(shown(kept))
	err = c.conn.Write(c.ctx, frame)
	if !bytes.Equal(frame, kept) {
		c.t.Errorf("Write(%s) changed the caller's bytes", method)
	}
	for i := range frame {
		frame[i] = '?'
	}
	return err
}

// shown returns a frame for messages, shortened if it is long.
func shown(frame []byte) string {
	const bound = 300
	if len(frame) > bound {
		return fmt.Sprintf("%s... (%d bytes)", frame[:bound], len(frame))
	}
	return string(frame)
}

// next reads one frame.
func (c *client) next() reply {
	c.t.Helper()
	frame, err := c.conn.Read(c.ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		c.t.Fatalf("Read: no frame within %v, and %d have come; one more is to come\nsent last: %s", patience, len(c.frames), c.sent.Load())
	}
	if err != nil {
		c.t.Fatalf("Read: %v, after %d frames; one more is to come\nsent last: %s", err, len(c.frames), c.sent.Load())
	}
	c.frames = append(c.frames, frame)
	c.copies = append(c.copies, bytes.Clone(frame))
	var r reply
	if err := json.Unmarshal(frame, &r); err != nil {
		c.t.Fatalf("Read returned what is not one frame: %v: %.80q", err, frame)
	}
	return r
}

// result reads until the answer to id. It ignores errors of other exchanges.
func (c *client) result(id int) reply {
	c.t.Helper()
	for {
		if r := c.next(); r.Method == "" && r.ID == id {
			return r
		}
	}
}

func (c *client) echo(id int, text string) {
	c.t.Helper()
	c.send(id, "echo", script{Text: text})
	if r := c.result(id); r.Result.Text != text {
		c.t.Fatalf("echo of %d bytes came back as %d bytes: %.80q", len(text), len(r.Result.Text), r.Result.Text)
	}
}

// wantEOF reads to the end of the connection.
func (c *client) wantEOF() {
	c.t.Helper()
	for {
		if _, err := c.conn.Read(c.ctx); err != nil {
			if err != io.EOF { //nolint:errorlint // the contract names io.EOF itself
				c.t.Fatalf("Read after the end: %v, want io.EOF", err)
			}
			return
		}
	}
}

// within waits for an element of ch.
func within[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case v := <-ch:
		return v
	case <-timer.C:
		t.Fatalf("waited in vain for %s", what)
	}
	panic("unreachable")
}
