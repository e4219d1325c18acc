package streamable_test

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/transport/internal/streamable"
)

// A stream that has ended may be resumed, and is kept for that: not so the request that it
// was the response to. Not in parallel: it measures the heap.
func TestKeptStreamsAreSmall(t *testing.T) {
	s := newSite(t, &host{plan: polling, log: &keeper{}, handle: func(_ context.Context, _ string, send func(string) error) (int, string) {
		if err := send(`{"note":1}`); err != nil {
			t.Error(err)
		}
		return http.StatusOK, `{"result":1}`
	}}, streamable.Config{})
	defer s.stop()
	heap := func() int {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := heap()
	const each = 1 << 20
	for range 20 {
		s.carry(s.do(http.MethodPost, strings.Repeat("m", each)), -1).wait()
	}
	if used := heap() - before; used > 5*each {
		t.Errorf("%d bytes are kept for 20 requests of %d", used, each)
	}
}
