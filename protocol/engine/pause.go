package engine

import (
	"context"
	"time"
)

// pause waits for d. The error is the cause of ctx, where that ends first.
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

// signal wakes the goroutine that reads c, which has room for one signal: it never blocks,
// and signals that were not read yet count as one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
