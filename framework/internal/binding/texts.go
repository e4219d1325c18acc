package binding

import (
	"strings"

	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// texts makes the strings of one value. Short ones share an allocation; it is
// small, because any of them keeps all of it alive. None aliases what was read:
// that may be a frame of megabytes, or somebody's buffer.
type texts struct {
	room  [shortText + len(`""`)]byte // where a text is unescaped
	chunk strings.Builder
	bound int // no more text than this can come
}

// Bounds of what is shared.
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
