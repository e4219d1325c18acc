package stdio

import (
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
