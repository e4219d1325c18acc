package reactor

import (
	"testing"
	"testing/synctest"
	"time"
)

// A loop is busy if its connections are read in turns, and fast.
func TestCrowd(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		conns, times int
		pause        time.Duration // after each read
		busy         bool
	}{
		"one":             {1, 1000, 0, false},
		"few":             {others, 100, 0, false},
		"many":            {others + 5, needed + 2, 0, true},
		"many, not often": {others + 5, needed - 1, 0, false},
		"many, slowly":    {others + 5, 100, 2 * pace, false},
		"many, at a pace": {others + 5, 100, pace / 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, crowds := newLoop(false), make([]crowd, tt.conns)
				for range tt.times {
					for i := range crowds {
						crowds[i].count(l)
						time.Sleep(tt.pause)
					}
				}
				if l.busy.Load() != tt.busy {
					t.Errorf("busy: %v", !tt.busy)
				}
			})
		})
	}
}

// A loop that does little at a time sends its members away. If it was not busy for long, it is harder to convince the
// next time.
func TestJudge(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		much, little int // windows
		always, busy bool
		need         uint64
	}{
		"much":                {much: 3, busy: true, need: 2 * needed},
		"little":              {little: 1, need: 4 * needed},
		"much, and little":    {much: lasting - 1, little: 1, need: 4 * needed},
		"lasting, and little": {much: lasting, little: 1, need: needed},
		"little for long":     {little: 100, need: 4 * needed},
		"always":              {little: 100, always: true, busy: true, need: 2 * needed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &reactor{loop: newLoop(tt.always)}
			r.busy.Store(true)
			r.need.Store(2 * needed)
			for _, part := range []struct{ windows, woken int }{{tt.much, worth}, {tt.little, worth - 1}} {
				r.woken = make([]*Conn, part.woken)
				for range part.windows * window {
					r.judge()
				}
			}
			if busy, need := r.busy.Load(), r.need.Load(); busy != tt.busy || need != tt.need {
				t.Errorf("busy: %v; need: %d", busy, need)
			}
		})
	}
}
