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

// A loop that does little at a time sends its members away, and is harder to convince the next time.
func TestJudge(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		woken, rounds int
		always, busy  bool
	}{
		"much":           {worth, 10 * window, false, true},
		"little":         {worth - 1, window, false, false},
		"little, so far": {worth - 1, window - 1, false, true},
		"always":         {1, window, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &reactor{loop: newLoop(tt.always), woken: make([]*Conn, tt.woken)}
			r.busy.Store(true)
			for range tt.rounds {
				r.judge()
			}
			if r.busy.Load() != tt.busy {
				t.Errorf("busy: %v", !tt.busy)
			}
			if need := r.need.Load(); !tt.busy && need != 2*needed || tt.busy && need != needed {
				t.Errorf("need: %d", need)
			}
		})
	}
}
