package client

import (
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// TestPollInterval checks that the server chooses the interval at which the client polls a task,
// within bounds.
func TestPollInterval(t *testing.T) {
	t.Parallel()
	for interval, want := range map[int64]time.Duration{
		0: usualLook, -5: usualLook, 1: shortestLook, 2000: 2 * time.Second, 1 << 60: longestLook, math.MaxInt64: longestLook,
	} {
		if got := lookEvery(interval); got != want {
			t.Errorf("%d: %v, want %v", interval, got, want)
		}
	}
}

// TestRetryAfterIsBounded checks that a server cannot keep a client from reconnecting for ever.
func TestRetryAfterIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := (&cursor{retry: time.Second}).wait(t.Context(), 0, &HTTPError{RetryAfter: 1 << 31 * time.Second}); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited < maxRefusal || waited > 2*maxRefusal {
			t.Errorf("the client waited %v", waited)
		}
	})
}
