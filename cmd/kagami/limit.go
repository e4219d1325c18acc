package main

import (
	"context"
	"fmt"
	"math"
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

	mu    sync.Mutex // guards the fields below
	timer *time.Timer
	left  time.Duration
	since time.Time // when the timer was started
	open  int       // questions that the user is answering
}

// limited returns a context that is canceled after d. If d is 0, there is no limit.
func limited(ctx context.Context, d time.Duration) (context.Context, *limit) {
	if d == 0 {
		d = math.MaxInt64
	}
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(d, func() { cancel(fmt.Errorf("the server took longer than %s (--timeout)", d)) })
	return ctx, &limit{fail: cancel, timer: late, left: d, since: time.Now()}
}

// hold stops the timer until release.
func (l *limit) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open++
	if l.open == 1 {
		l.timer.Stop()
		l.left -= time.Since(l.since)
	}
}

func (l *limit) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.open == 0 {
		l.since = time.Now()
		l.timer.Reset(max(l.left, 0))
	}
}

// end ends the session without an error. A release of a question that is still open does not start the timer
// again.
func (l *limit) end() {
	l.hold()
	l.fail(nil)
}
