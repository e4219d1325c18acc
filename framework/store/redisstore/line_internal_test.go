package redisstore

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestTurnAtTheLastMoment: if a Take stops waiting while it receives a turn, it returns the turn
// or the line gives the turn back. The turn is never lost.
func TestTurnAtTheLastMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lost, late := 0, 0
		for range 2000 {
			l := &line{reading: true} // which this test is
			ctx, cancel := context.WithCancel(t.Context())
			taken := make(chan bool, 1)
			go func() {
				got, err := l.wait(ctx)
				taken <- err == nil && got.task == "a"
			}()
			synctest.Wait()
			cancel()
			left := l.hand([]turn{{task: "a"}})
			switch got := <-taken; {
			case got && len(left) == 0:
				late++
			case got || len(left) == 0:
				lost++
			}
		}
		if lost > 0 {
			t.Errorf("%d turns were lost, or were two Takes'", lost)
		}
		if late == 0 {
			t.Error("no turn arrived in that moment: nothing was tested")
		}
	})
}
