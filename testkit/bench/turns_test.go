package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/proc"
)

// TestSilent: a server that says nothing is ended, and with it who waits for an answer.
func TestSilent(t *testing.T) {
	t.Parallel()
	p, err := proc.Stdio(t.Context(), "sleep", nil, "600")
	if err != nil {
		t.Fatal(err)
	}
	w := pipeLoad{depth: 1}
	err = within(p, time.Millisecond, func() error { _, err := w.meet(&entrant{process: p}); return err })
	if err == nil || !strings.Contains(err.Error(), "has not answered for 1ms") {
		t.Error(err)
	}
	_ = p.Stop() // it was killed
}

// TestStopped checks that the error of a stopped bench is the reason of the stop, and not a failure
// that follows from it.
func TestStopped(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	stop(stopped)
	var out, errs bytes.Buffer
	if err := run(ctx, []string{"-only", "cold"}, &out, &errs); err == nil || err.Error() != stopped.Error() {
		t.Errorf("%v, want %v", err, stopped)
	}
}
