package wait

import (
	"context"
	"time"
)

// Pause waits for d. If ctx ends first, it returns the cause of ctx.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Signal wakes the goroutine that reads c, a channel with a buffer of one. It never blocks, and
// signals that were not read yet count as one.
func Signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
