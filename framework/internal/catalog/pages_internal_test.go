package catalog

import (
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
)

// TestPagesAreBounded checks that pages are bounded in number and in bytes, and that requested pages stay.
func TestPagesAreBounded(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10, 1 << 20, generation + 1} {
		var ps pages
		text := make([]byte, size)
		favorite := pageKey{after: start{order: 1 << 20}}
		ps.put(favorite, &protocol.Page{Entries: [][]byte{[]byte("x")}})
		for i := range 2000 {
			ps.put(pageKey{after: start{order: uint64(i)}}, &protocol.Page{Entries: [][]byte{text}})
			if ps.get(favorite) == nil {
				t.Fatalf("a page in use is forgotten after %d of %d bytes", i, size)
			}
		}
		kept, bytes := 0, 0
		for _, m := range []map[pageKey]*protocol.Page{ps.young, ps.old} {
			for _, page := range m {
				kept++
				for _, e := range page.Entries {
					bytes += len(e)
				}
			}
		}
		if kept > 2*generationPages || bytes > 2*generation {
			t.Errorf("pages of %d bytes: %d with %d bytes are kept", size, kept, bytes)
		}
	}
}
