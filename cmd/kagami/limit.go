package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// limit ends a session whose server takes too long. The time that the user needs for answers does
// not count.
//
// Questions call hold and release on any goroutine, and mu guards the state. While open is greater
// than 0, the timer is stopped and left is the remaining time.
type limit struct {
	fail context.CancelCauseFunc // ends the session; the cause becomes the error of the command

	mu    sync.Mutex  // guards the fields below
	timer *time.Timer // nil: no limit
	left  time.Duration
	since time.Time // when the timer was started
	open  int       // questions that the user is answering
}

// limited returns a context that is canceled after d. If d is 0, there is no limit.
func limited(ctx context.Context, d time.Duration) (context.Context, *limit) {
	ctx, cancel := context.WithCancelCause(ctx)
	l := &limit{fail: cancel, left: d}
	if d > 0 {
		l.since = time.Now()
		l.timer = time.AfterFunc(d, func() { l.fail(fmt.Errorf("the server took longer than %s (--timeout)", d)) })
	}
	return ctx, l
}

// hold stops the timer until release.
func (l *limit) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open++
	if l.timer != nil && l.open == 1 {
		l.timer.Stop()
		l.left -= time.Since(l.since)
	}
}

func (l *limit) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.timer != nil && l.open == 0 {
		l.since = time.Now()
		l.timer.Reset(max(l.left, 0))
	}
}

func (l *limit) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	l.fail(nil)
}
