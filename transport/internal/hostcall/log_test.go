package hostcall_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/hostcall"
)

// host is a host that records its warnings.
type host []string

func (*host) Accept(context.Context, []byte) (transport.Exchange, error) { return nil, nil }

func (h *host) Services() transport.Services {
	return transport.Services{Warn: func(text string) { *h = append(*h, text) }}
}

// TestWarn checks that equal warnings are logged once in a pause, and that the number of different
// warnings is bounded.
func TestWarn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var h host
		log := hostcall.NewLog(&h, time.Minute)
		for i := range 100 {
			log.Warn("a", fmt.Sprint(i))
			log.Warn("b", "")
			time.Sleep(time.Second)
		}
		if want := (host{"a: 0", "b", "a: 60", "b"}); !slices.Equal(h, want) {
			t.Fatalf("%q, want %q", h, want)
		}
		time.Sleep(time.Minute)
		h = nil
		for i := range 1000 {
			log.Warn(fmt.Sprintf("%d happened", i), "often")
		}
		if last := h[len(h)-1]; len(h) != 64 || strings.Contains(h[0], "left out") || !strings.Contains(last, "left out for a while): often") {
			t.Errorf("%d warnings, the last %q", len(h), last)
		}
		time.Sleep(time.Minute)
		if log.Warn("2000 happened", ""); len(h) != 65 {
			t.Error("nothing is logged any more")
		}
	})
}

// TestPanicked checks that a panic is logged with its stack, and not repeated.
func TestPanicked(t *testing.T) {
	t.Parallel()
	var h host
	log := hostcall.NewLog(&h, time.Minute)
	for _, value := range []any{"no", "no", errors.New("never"), strings.Repeat("x", 1<<20)} {
		func() {
			defer log.Recover()
			panic(value)
		}()
	}
	if len(h) != 3 || !strings.HasPrefix(h[0], "panic while serving: no: goroutine ") || !strings.Contains(h[0], "TestPanicked") || len(h[2]) > 10_000 {
		t.Errorf("%q", h)
	}
}
