package stdio

import (
	"context"
	"testing"
)

// TestEndedConnectionKeepsNoSlot: a connection that has ended has free slots too, and the choice between the
// two is random. drain would wait for a slot that is taken and not released.
func TestEndedConnectionKeepsNoSlot(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	s := &serving{conn: ended, slots: make(chan struct{}, 1)}
	for range 64 {
		if s.acquire() {
			t.Fatal("an ended connection takes a frame")
		}
		if len(s.slots) != 0 {
			t.Fatal("the slot is kept")
		}
	}
}
