package framework_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/internal/rawschema"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

type listed struct {
	A    int     `json:"a"`
	Next *listed `json:"next,omitempty"`
	In   struct {
		B []string `json:"b"`
	} `json:"in"`
}

// TestResultsFitTheListedSchema: no result contradicts the output schema that the list of that very
// revision gives, whatever is nil.
func TestResultsFitTheListedSchema(t *testing.T) {
	t.Parallel()
	app := framework.New("x", "1")
	add(app, "pointer", nil, &listed{A: 1, Next: &listed{A: 2}})
	add(app, "rich", framework.Rich[*listed]{}, framework.Rich[*listed]{Value: &listed{A: 1}})
	add(app, "list", []listed(nil), []listed{{A: 1}})
	add(app, "listOfPointers", []*listed{nil}, []*listed{{A: 1}})
	add(app, "map", map[string]*listed(nil), map[string]*listed{"x": nil, "y": {A: 1}})
	add[any](app, "any", nil, map[string]any{"a": nil})
	add(app, "number", (*int)(nil), new(int))
	add(app, "raw", json.RawMessage(nil), json.RawMessage(`{"a":1}`))
	s, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, rev := range []protocol.Revision{protocol.Rev20250618, protocol.Rev20251125, protocol.Rev20260728} {
		c, err := client.Connect(t.Context(), client.InMemory(s), client.Revisions(rev))
		if err != nil {
			t.Fatal(err)
		}
		for name, schema := range listedSchemas(t, c) {
			raw, err := c.Request(t.Context(), "tools/call", json.RawMessage(`{"name":"`+name+`"}`))
			if err != nil {
				t.Fatal(err)
			}
			var result struct {
				Structured json.RawMessage `json:"structuredContent"`
			}
			if err := json.Unmarshal(raw, &result); err != nil || result.Structured == nil {
				t.Errorf("%s %s: %s %v", rev, name, raw, err)
				continue
			}
			judge, err := rawschema.Compile(schema)
			if err != nil {
				t.Fatalf("%s %s: %s: %v", rev, name, schema, err)
			}
			if failures, _ := judge.Check(result.Structured, 5); len(failures) > 0 {
				t.Errorf("%s %s: %s contradicts %s: %v", rev, name, result.Structured, schema, failures)
			}
		}
		_ = c.Close()
	}
}

// add adds a tool that returns empty, and one that returns full.
func add[Out any](app *framework.App, name string, empty, full Out) {
	app.Add(framework.Tool(name, func(context.Context, struct{}) (Out, error) { return empty, nil }),
		framework.Tool(name+"_full", func(context.Context, struct{}) (Out, error) { return full, nil }))
}

// listedSchemas are the output schemas of the list, by tool.
func listedSchemas(t *testing.T, c *client.Client) map[string]json.RawMessage {
	t.Helper()
	raw, err := c.Request(t.Context(), "tools/list", nil)
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Tools []struct {
			Name         string          `json:"name"`
			OutputSchema json.RawMessage `json:"outputSchema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	all := map[string]json.RawMessage{}
	for _, tool := range list.Tools {
		if tool.OutputSchema != nil {
			all[tool.Name] = tool.OutputSchema
		}
	}
	return all
}
