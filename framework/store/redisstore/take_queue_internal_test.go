package redisstore

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestDeliveryAtTheLastMoment: if a Take stops waiting while it receives a delivery, it returns it
// or the queue gives the delivery back. The delivery is never lost.
func TestDeliveryAtTheLastMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lost, late := 0, 0
		for range 2000 {
			l := &takeQueue{reading: true} // which this test is
			ctx, cancel := context.WithCancel(t.Context())
			taken := make(chan bool, 1)
			go func() {
				got, err := l.wait(ctx)
				taken <- err == nil && got.task == "a"
			}()
			synctest.Wait()
			cancel()
			left := l.hand([]delivery{{task: "a"}})
			switch got := <-taken; {
			case got && len(left) == 0:
				late++
			case got || len(left) == 0:
				lost++
			}
		}
		if lost > 0 {
			t.Errorf("%d deliveries were lost, or were two Takes'", lost)
		}
		if late == 0 {
			t.Error("no delivery arrived in that moment: nothing was tested")
		}
	})
}
