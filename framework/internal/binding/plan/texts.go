package plan

import (
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// texts makes the strings of one value. Short ones share an allocation, which is small, since
// any one of them keeps it alive. None aliases the text that was read: that may be a frame of
// megabytes, or a buffer of the transport.
type texts struct {
	room  [shortText + len(`""`)]byte // where a text is unescaped
	chunk strings.Builder
	bound int // the length of the text that is read: there cannot be more
}

// Bounds of a shared allocation.
const (
	shortText = 64
	maxChunk  = 512
)

// of is the text of a checked string value; false if it is of another kind.
func (t *texts) of(raw []byte) (string, bool) {
	if len(raw) > len(t.room) {
		return jsontext.String(raw)
	}
	text, ok := jsontext.TextIn(t.room[:0], raw)
	n := len(text)
	if t.chunk.Cap()-t.chunk.Len() < n {
		t.chunk.Reset()
		t.chunk.Grow(max(n, min(t.bound, maxChunk)))
	}
	start := t.chunk.Len()
	t.chunk.Write(text)
	return t.chunk.String()[start:], ok
}
