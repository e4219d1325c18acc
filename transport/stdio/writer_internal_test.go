package stdio

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

// TestCloseWritesHeldFrames: at the end, frames that are held back are written, also if the reading
// goroutine has not flushed them: the one that takes its place may be about to.
func TestCloseWritesHeldFrames(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w := newFrameWriter(&out)
	w.hold()
	if err := w.Send(t.Context(), transport.Frame{JSON: []byte(`{"id":1}`)}); err != nil {
		t.Fatal(err)
	}
	w.close(time.Minute)
	if got := out.String(); got != "{\"id\":1}\n" {
		t.Errorf("written: %q", got)
	}
	if w.Send(t.Context(), transport.Frame{JSON: []byte(`{"id":2}`)}) == nil {
		t.Error("a closed writer takes a frame")
	}
}

// short is a writer that takes only half of what it is given, and does not say so.
type short struct{}

func (short) Write(p []byte) (int, error) { return len(p) / 2, nil }

// TestShortWrite: after half a frame nothing more can be read, so the connection has ended.
func TestShortWrite(t *testing.T) {
	t.Parallel()
	w := newFrameWriter(short{})
	for range 2 {
		if err := w.Send(t.Context(), transport.Frame{JSON: []byte(`{"id":1}`)}); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("a frame of which half was written: %v", err)
		}
	}
}
