package framework_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
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

// TestBadAnswersAreWarnings: a client that answers a question badly, or not at all, must not be able
// to write errors, or long texts, into the log.
func TestBadAnswersAreWarnings(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	for title, answer := range map[string]func(string, rawJSON) string{
		"none":       nil,
		"an error":   func(string, rawJSON) string { return `"error":{"code":-32000,"message":"` + long + `"}` },
		"no result":  func(string, rawJSON) string { return `"result":{"action":"` + long + `"}` },
		"an invalid": func(string, rawJSON) string { return `"result":{"action":"accept","content":{"name":7}}` },
		"unasked":    func(string, rawJSON) string { return `"result":{"action":"accept","content":{"` + long + `":7}}` },
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				core, logs := observer.New(zap.InfoLevel)
				s := build(t, framework.New("test", "1", framework.WithLogger(zap.New(core))).Add(framework.Tool("ask", func(ctx context.Context, _ struct{}) (string, error) {
					_, err := framework.Elicit[name](ctx, "Who?")
					return "", err
				})))
				dial(t, s, protocol.Rev20251125, withCaps(canElicit), answering(answer)).tool("ask", `{}`).isError()
				all := logs.All()
				if len(all) != 1 || all[0].Level != zap.WarnLevel || all[0].Message != "a tool failed" {
					t.Fatalf("logged %d entries, the first at %v", len(all), all[0].Level)
				}
				if text, _ := all[0].ContextMap()["error"].(string); text == "" || len(text) > 2048 {
					t.Errorf("the error has %d bytes", len(text))
				}
			})
		})
	}
}
