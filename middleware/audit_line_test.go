package middleware_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/middleware"
)

// failing writes each line whole, and returns an error for the first one.
type failing struct {
	strings.Builder
	n int
}

func (f *failing) Write(p []byte) (int, error) {
	n, _ := f.Builder.Write(p)
	if f.n++; f.n == 1 {
		return n, errors.New("the disk is nearly full")
	}
	return n, nil
}

// TestAuditAfterAWholeLine: a write that failed after the whole line leaves no empty line.
func TestAuditAfterAWholeLine(t *testing.T) {
	t.Parallel()
	w := &failing{}
	s := build(t, quiet().Use(middleware.Audit(w)).Add(doing(func(context.Context) error { return nil })))
	for range 2 {
		call(t.Context(), t, s, `{}`)
	}
	if strings.Contains(w.String(), "\n\n") {
		t.Errorf("an empty line: %q", w.String())
	}
}
