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

// TestAsks: answers and notifications do not wait for a quota, and neither does a batch of them.
func TestAsks(t *testing.T) {
	t.Parallel()
	const (
		call   = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		answer = `{"jsonrpc":"2.0","id":1,"result":{}}`
		notice = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	)
	for frame, want := range map[string]bool{
		call: true, "{": true, "[": true, "[1]": true, "[" + answer + "," + call + "]": true, "\ufeff" + call: true,
		answer: false, notice: false, "[" + answer + "," + notice + "]": false, "\ufeff" + answer: false,
		`{"jsonrpc":"2.0","id":1,"error":"no"}`: false, // a malformed answer
	} {
		if got := streamable.Asks([]byte(frame)); got != want {
			t.Errorf("Asks(%q) is %t", frame, got)
		}
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
