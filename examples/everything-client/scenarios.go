package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"

	"github.com/kagami-mcp/kagami/protocol/client"
)

type toolCall struct {
	Name      string
	Arguments json.RawMessage
}

// scenarios maps the suite's names of scenarios to their functions.
var scenarios = map[string]func(context.Context, *client.Client) error{
	"initialize":                          calls(),
	"request-metadata":                    calls(),
	"json-schema-ref-no-deref":            calls(),
	"tools_call":                          calls(toolCall{"add_numbers", json.RawMessage(`{"a":5,"b":3}`)}),
	"elicitation-sep1034-client-defaults": calls(toolCall{Name: "test_client_elicitation_defaults"}),
	"sse-retry":                           calls(toolCall{Name: "test_reconnection"}),
	"sep-2322-client-request-state": calls(toolCall{Name: "test_mrtr_echo_state"}, toolCall{Name: "test_mrtr_unrelated"},
		toolCall{Name: "test_mrtr_no_state"}, toolCall{Name: "test_mrtr_no_result_type"}),
	"http-standard-headers":            oneOfEach,
	"http-custom-headers":              prescribed,
	"http-invalid-tool-headers":        callAll,
	"json-schema-2020-12-preservation": echoSchema,
}

// calls returns a scenario that calls tools. It lists the tools first, because their schemas name
// the arguments to repeat in headers.
func calls(wanted ...toolCall) func(context.Context, *client.Client) error {
	return func(ctx context.Context, c *client.Client) error {
		for _, err := range c.Tools(ctx) {
			if err != nil {
				return err
			}
		}
		for _, w := range wanted {
			if err := call(ctx, c, w.Name, w.Arguments); err != nil {
				return err
			}
		}
		return nil
	}
}

func call(ctx context.Context, c *client.Client, tool string, args any) error {
	result, err := c.CallTool(ctx, tool, args)
	if err == nil && result.IsError {
		err = &client.ToolError{Tool: tool, Result: result}
	}
	return err
}

// prescribed makes the calls that the suite requests in MCP_CONFORMANCE_CONTEXT.
func prescribed(ctx context.Context, c *client.Client) error {
	var wanted struct{ ToolCalls []toolCall }
	if err := json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &wanted); err != nil {
		return fmt.Errorf("reading MCP_CONFORMANCE_CONTEXT: %w", err)
	}
	return calls(wanted.ToolCalls...)(ctx, c)
}

// callAll calls every tool in the client's list. The client removes tools with invalid headers from
// the list.
func callAll(ctx context.Context, c *client.Client) error {
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			return err
		}
		if err := call(ctx, c, tool.Name, map[string]string{"region": "us-west1"}); err != nil {
			return err
		}
	}
	return nil
}

// oneOfEach uses the first tool, resource and prompt.
func oneOfEach(ctx context.Context, c *client.Client) error {
	tool, err := first(c.Tools(ctx))
	if err != nil {
		return err
	}
	if err := call(ctx, c, tool.Name, struct{}{}); err != nil {
		return err
	}
	resource, err := first(c.Resources(ctx))
	if err != nil {
		return err
	}
	if _, err := c.ReadResource(ctx, resource.URI); err != nil {
		return err
	}
	prompt, err := first(c.Prompts(ctx))
	if err != nil {
		return err
	}
	_, err = c.GetPrompt(ctx, prompt.Name, nil)
	return err
}

func first[T any](list iter.Seq2[T, error]) (item T, err error) {
	for item, err = range list {
		return item, err
	}
	return item, errors.New("the list is empty")
}

// echoSchema sends the schema that the client has read back to the server.
func echoSchema(ctx context.Context, c *client.Client) error {
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			return err
		}
		if tool.Name == "json_schema_2020_12_tool" {
			return call(ctx, c, "json_schema_echo", map[string]json.RawMessage{"schema": tool.InputSchema})
		}
	}
	return errors.New("no tool json_schema_2020_12_tool")
}

// answer answers as a user who accepts every form: defaults stay, and each yes-or-no question gets
// yes.
func answer(_ context.Context, r *client.ElicitRequest) (*client.ElicitAnswer, error) {
	var form struct {
		Properties map[string]struct {
			Type    string
			Default any
		}
	}
	if err := json.Unmarshal(r.Schema, &form); err != nil {
		return nil, fmt.Errorf("reading the form: %w", err)
	}
	content := map[string]any{}
	for name, field := range form.Properties {
		if field.Default != nil {
			content[name] = field.Default
		} else if field.Type == "boolean" {
			content[name] = true
		}
	}
	return &client.ElicitAnswer{Action: "accept", Content: content}, nil
}
