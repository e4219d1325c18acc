package testkit

import (
	"encoding/json"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
)

// TryTool is what FuzzTool says of one call.
func TryTool[In, Out any](t *testing.T, tool *framework.ToolOf[In, Out], arguments string) string {
	t.Helper()
	b := bareTool(t, tool)
	c := b.connect(t, newest())
	defer func() { _ = c.Close() }()
	return b.try(t, c, tool.Name(), json.RawMessage(arguments))
}

// Disagreement is what FuzzAgreement says of one call, if check were the tool's.
func Disagreement[In, Out any](t *testing.T, tool *framework.ToolOf[In, Out], check func(json.RawMessage) error, arguments string) string {
	t.Helper()
	j, err := newJudge(tool)
	if err != nil {
		t.Fatal(err)
	}
	j.check = check
	return j.disagrees(json.RawMessage(arguments))
}

// Near makes the calls of a fuzz test.
func Near[In, Out any](t *testing.T, tool *framework.ToolOf[In, Out]) func(arguments string, seed uint64) json.RawMessage {
	t.Helper()
	j, err := newJudge(tool)
	if err != nil {
		t.Fatal(err)
	}
	return j.near
}
