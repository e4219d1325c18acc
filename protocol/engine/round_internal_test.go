package engine

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/replay"
	"github.com/kagami-mcp/kagami/protocol/rounds"
)

// TestEffectsWhileJournalIsTaken: one goroutine of a task's handler may perform an effect while another
// one writes the journal. Both need the lock of the effects and the lock of the round.
func TestEffectsWhileJournalIsTaken(t *testing.T) {
	t.Parallel()
	e := New(Config{})
	c := (&job{e: e, id: "t", ctx: t.Context(), from: origin{conn: e.noConn, dialect: dialect.Handshake("")}}).unstarted(0).
		call(nil, noMeta, &rounds.Journal{})
	c.once.Store(replay.New(0))
	const times = 500
	var both sync.WaitGroup
	both.Go(func() {
		for i := range times {
			if _, err := c.effects().Run(t.Context(), strconv.Itoa(i), func(context.Context) ([]byte, error) { return nil, nil }, c.Pending); err != nil {
				t.Error(err)
			}
		}
	})
	both.Go(func() {
		for range 20 * times {
			c.journal(0)
		}
	})
	done := make(chan struct{})
	go func() { both.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("the two goroutines wait for each other")
	}
	if n := len(c.journal(0).Effects); n != times {
		t.Errorf("the journal has %d effects, want %d", n, times)
	}
}

// TestEffectsOfGoroutines: goroutines of one handler that call Once for the first time at the same time
// share the effects of the call.
func TestEffectsOfGoroutines(t *testing.T) {
	t.Parallel()
	e := New(Config{})
	const goroutines = 4
	for range 2000 {
		c := (&job{e: e, id: "t", ctx: t.Context(), from: origin{conn: e.noConn, dialect: dialect.Handshake("")}}).unstarted(0).
			call(nil, noMeta, &rounds.Journal{})
		c.once.Store(nil)
		var all sync.WaitGroup
		var got [goroutines]*replay.Effects
		start := make(chan struct{})
		for i := range goroutines {
			all.Go(func() {
				<-start
				got[i] = c.effects()
			})
		}
		close(start)
		all.Wait()
		for _, f := range got {
			if f == nil || f != got[0] {
				t.Fatal("two goroutines got different effects")
			}
		}
	}
}
