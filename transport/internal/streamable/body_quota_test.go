package streamable_test

import (
	"bytes"
	"testing"

	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// TestLargeBodiesCountMore: a client has about 64 of the largest bodies at a time, however many calls
// it may have.
func TestLargeBodiesCountMore(t *testing.T) {
	t.Parallel()
	s := newSite(t, &host{plan: modern}, streamable.Config{MaxCalls: 4096, BodyLimit: 1 << 20})
	defer s.stop()
	frame, held := bytes.Repeat([]byte(" "), 1<<20), 0
	for ; held < 4096; held++ {
		if _, ok := s.e.EnterCalls("192.0.2.1", frame); !ok {
			break
		}
	}
	if held < 32 || held > 80 {
		t.Errorf("%d of the largest bodies at a time", held)
	}
	if _, ok := s.e.EnterCalls("192.0.2.2", []byte(`{}`)); !ok {
		t.Error("another client waits for these")
	}
}

// TestSmallBodiesAreOneCall: a small limit of bodies does not make ordinary calls count as several.
func TestSmallBodiesAreOneCall(t *testing.T) {
	t.Parallel()
	s := newSite(t, &host{plan: modern}, streamable.Config{MaxCalls: 4096, BodyLimit: 64 << 10})
	defer s.stop()
	frame := bytes.Repeat([]byte(" "), 4<<10)
	for i := range 4096 {
		if _, ok := s.e.EnterCalls("192.0.2.1", frame); !ok {
			t.Fatalf("refused after %d calls", i)
		}
	}
}
