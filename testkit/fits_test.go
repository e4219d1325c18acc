package testkit_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
)

// altering replaces the structured content of results.
func altering(structured string) framework.Middleware {
	return framework.OnToolCall("alter", func(ctx context.Context, call *framework.Call, next framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
		result, err := next(ctx, call)
		if err == nil {
			result.Structured = json.RawMessage(structured)
		}
		return result, err
	})
}

// TestResultsFitTheirSchemas: a result that breaks the output schema in the list of the session's
// revision fails the test, for calls and tasks alike. What each revision puts into an object is
// compared as it is sent.
func TestResultsFitTheirSchemas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		structured string
		at         protocol.Revision
		task       bool
		fails      bool
	}{
		"right":                    {`["wet"]`, protocol.Rev20260728, false, false},
		"right, in an object":      {`["wet"]`, protocol.Rev20250618, false, false},
		"wrong":                    {`[7]`, protocol.Rev20260728, false, true},
		"wrong, in an object":      {`[7]`, protocol.Rev20251125, false, true},
		"nothing to compare it by": {`[7]`, protocol.Rev20241105, false, false},
		"a task, right":            {`["wet"]`, protocol.Rev20251125, true, false},
		"a task, wrong":            {`[7]`, protocol.Rev20251125, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := framework.Tool("weather", func(context.Context, struct{}) ([]string, error) {
				return []string{"dry"}, nil
			}, framework.Task(framework.TaskOptional))
			got := strings.Join(failures(t, func(tb testing.TB) {
				s := testkit.New(tb, framework.New("weather", "1").Add(tool).Use(altering(c.structured)), testkit.At(c.at))
				if c.task {
					_, _ = testkit.Start(s, tool, struct{}{}).Await()
					return
				}
				s.CallRaw("weather", `{}`)
			}), "\n")
			if fails := strings.Contains(got, "breaks the output schema"); fails != c.fails {
				t.Errorf("fails: %t\n%s", fails, got)
			}
		})
	}
}
