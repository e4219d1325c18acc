package dialect_test

import (
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// A proxy that sends a block on which it does not know says so, at every revision.
func TestUnknownBlockIsSaid(t *testing.T) {
	t.Parallel()
	for _, rev := range protocol.Revisions() {
		got, err := dialect.Of(rev).AppendBlock(nil, protocol.Unknown{Type: "hologram", Raw: []byte(`{"type":"hologram"}`)})
		if want := `{"type":"text","text":"[block of type \"hologram\", 19 bytes: not known here]"}`; string(got) != want || err != nil {
			t.Errorf("%s: %s, %v", rev, got, err)
		}
	}
}
