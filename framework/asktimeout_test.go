package framework_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
)

// TestWithAskTimeout: a client that says nothing is waited for as long as the app says.
func TestWithAskTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var took time.Duration
		s := build(t, quiet(framework.WithAskTimeout(3*time.Second)).Add(framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
			begun := time.Now()
			_, err := framework.Elicit[name](ctx, "Who?")
			took = time.Since(begun)
			return "", err
		})))
		if r := dial(t, s, core, withCaps(canElicit)).tool("ask", `{}`).ok(); !strings.Contains(string(r.Result), `"isError":true`) || !strings.Contains(string(r.Result), "The client gave no answer in time.") || took != 3*time.Second {
			t.Errorf("after %v: %s", took, r.Result)
		}
	})
	if _, err := quiet(framework.WithAskTimeout(0)).Build(); err == nil || !strings.Contains(err.Error(), "WithAskTimeout: the duration must be more than 0") {
		t.Errorf("%v", err)
	}
}
