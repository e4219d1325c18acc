package framework_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
)

// TestAskAfterTheCall checks the error for a goroutine that outlives its handler: it asks too late.
// The error must not blame the client.
func TestAskAfterTheCall(t *testing.T) {
	t.Parallel()
	over, asked := make(chan struct{}), make(chan error, 1)
	s := build(t, quiet().Add(framework.Tool("t", func(ctx context.Context, _ struct{}) (string, error) {
		go func() {
			<-over
			_, err := framework.Elicit[name](ctx, "Who?")
			asked <- err
		}()
		return "done", nil
	})))
	dial(t, s, core, withCaps(canElicit)).tool("t", `{}`).ok()
	close(over)
	if err := <-asked; err == nil || errors.Is(err, framework.ErrUnsupported) || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the call is over") {
		t.Errorf("%v", err)
	}
}
