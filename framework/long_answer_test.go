package framework_test

import (
	"context"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// TestLongAnswers: an answer that is too long to be carried to the next round is the client's
// fault, and is named as such; one that no later round needs may have any length.
func TestLongAnswers(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.ErrorLevel)
	app := framework.New("asks", "1", framework.WithLogger(zap.New(core)))
	app.Add(
		framework.Tool("once", func(ctx context.Context, _ struct{}) (string, error) {
			text, err := framework.Elicit[string](ctx, "First?")
			return text[:min(len(text), 3)], err
		}),
		framework.Tool("twice", func(ctx context.Context, _ struct{}) (string, error) {
			if _, err := framework.Elicit[string](ctx, "First?"); err != nil {
				return "", err
			}
			return framework.Elicit[string](ctx, "Second?")
		}),
	)
	server, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{100, 60 << 10, 70 << 10, 900 << 10} {
		c, err := client.Connect(t.Context(), client.InMemory(server), client.Revisions(protocol.Rev20260728),
			client.OnElicit(func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
				return &client.ElicitAnswer{Action: "accept", Content: map[string]any{"value": strings.Repeat("x", size)}}, nil
			}))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.CallTool(t.Context(), "once", nil); err != nil || got.IsError {
			t.Errorf("once with %d bytes: %+v %v", size, got, err)
		}
		_, err = c.CallTool(t.Context(), "twice", nil)
		switch long := size > 64<<10; {
		case long && (err == nil || !strings.Contains(err.Error(), "-32602") || !strings.Contains(err.Error(), "answer with less")):
			t.Errorf("twice with %d bytes: %v", size, err)
		case size < 32<<10 && err != nil:
			t.Errorf("twice with %d bytes: %v", size, err)
		}
		_ = c.Close()
	}
	for _, entry := range logs.All() {
		t.Errorf("logged as an error: %s %v", entry.Message, entry.ContextMap())
	}
}
