package app

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// If a client cancels a call of slow, the handler ends and counts the call.
func TestSlowIsCancelled(t *testing.T) {
	t.Parallel()
	for _, rev := range protocol.Revisions() {
		t.Run(rev.String(), func(t *testing.T) {
			t.Parallel()
			server, err := New().Build()
			if err != nil {
				t.Fatal(err)
			}
			c, err := client.Connect(t.Context(), client.InMemory(server), client.Revisions(rev))
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := errors.Join(c.Close(), server.Shutdown(context.WithoutCancel(t.Context()))); err != nil {
					t.Error(err)
				}
			}()
			if got, err := client.Call[string](t.Context(), c, "slow", slowIn{Seconds: 0.01}); got != "Waited 0.01 s." || err != nil {
				t.Errorf("slow: %q, %v", got, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			running := client.OnProgress(func(protocol.Progress) { cancel() })
			if _, err := c.CallTool(ctx, "slow", slowIn{Seconds: 3600}, running); !errors.Is(err, context.Canceled) {
				t.Errorf("a cancelled call: %v", err)
			}
			awaitCancelled(t, c)
		})
	}
}

// awaitCancelled asks until the handler has noticed the cancellation, because no notification
// reports it.
func awaitCancelled(t *testing.T, c *client.Client) {
	t.Helper()
	const patience = 20 * time.Second
	for start := time.Now(); time.Since(start) < patience; {
		result, err := c.CallTool(t.Context(), "slow_cancelled", nil)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := result.Content[0].(protocol.Text)
		if text.Text == `{"count":1}` {
			return
		}
	}
	t.Error("slow was not cancelled")
}
