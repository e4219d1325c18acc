package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/client"
)

// TestOpenRequestsKeepNoText: a request without an answer does not keep the text of a frame that the
// list has dropped.
func TestOpenRequestsKeepNoText(t *testing.T) {
	t.Parallel()
	w := newWire(func(int) {})
	defer w.close()
	for i := range 100 {
		w.add(t.Context(), 1, client.Frame{Text: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"x","params":{"a":"%s"}}`, i, strings.Repeat("a", 1<<20))}, func(b []byte) []byte { return b })
	}
	held := 0
	for _, f := range w.open {
		held += len(f.text)
	}
	if held > maxFrameBytes {
		t.Errorf("%d bytes are held", held)
	}
}
