package engine

import (
	"context"
	"time"
)

// pause waits for d. If ctx ends first, it returns the cause of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pauseWhileOpen waits for d, or until Shutdown begins.
func (e *Engine) pauseWhileOpen(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-e.closed:
	}
}

// signal wakes the goroutine that reads c, a channel with a buffer of one. It never blocks, and
// signals that were not read yet count as one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
