package testkit

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/testhook"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// outputs checks results of tools against their output schemas. Checks are compiled at the first
// use and kept; mu guards them.
type outputs struct {
	mu     sync.Mutex
	checks map[string]func(json.RawMessage) error // by the text of the schema
}

// check returns the check of a schema, and compiles it at most once.
func (o *outputs) check(schema json.RawMessage) (func(json.RawMessage) error, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if check := o.checks[string(schema)]; check != nil {
		return check, nil
	}
	check, err := testhook.Schema(schema)
	if err != nil {
		return nil, err
	}
	if o.checks == nil {
		o.checks = map[string]func(json.RawMessage) error{}
	}
	o.checks[string(schema)] = check
	return check, nil
}

// fits fails the test if the result of a tool does not conform to the output schema that the
// revision lists. Servers must provide structured results that conform (2025-06-18 server/tools,
// "Output Schema"). Results with isError are not checked.
func (s *Session) fits(d *dialect.Dialect, name string, result *protocol.CallToolResult) {
	s.t.Helper()
	if result.IsError || !d.StructuredContent() {
		return
	}
	schema, err := listedOutput(s.testServer.server, d, name)
	if err != nil || schema == nil {
		return // the tool was removed meanwhile, or promises nothing
	}
	check, err := s.testServer.outputs.check(schema)
	if err == nil {
		err = check(result.Structured)
	}
	if err != nil {
		s.t.Errorf("testkit: the result of %s breaks the output schema that revision %s lists: %v\ngot:    %s\nschema: %s",
			name, d, err, result.Structured, schema)
	}
}

// listedOutput returns the output schema of a tool as a revision lists it, or nil.
func listedOutput(server *framework.Server, d *dialect.Dialect, name string) (json.RawMessage, error) {
	for _, c := range server.Inspect().Components {
		if c.Kind != "tool" || c.Name != name {
			continue
		}
		newest := dialect.All()[len(dialect.All())-1]
		list, fault := newest.DecodeResult(protocol.MethodListTools, fmt.Appendf(nil, `{"tools":[%s]}`, c.Listed))
		if fault != nil {
			return nil, errors.New(fault.Message)
		}
		tools, _ := list.(*protocol.ListToolsResult)
		if tools == nil || len(tools.Tools) == 0 {
			return nil, nil //nolint:nilnil // the revision does not list it
		}
		listed, err := d.AppendTool(nil, &tools.Tools[0])
		if err != nil {
			return nil, err
		}
		schema, _ := jsontext.Member(listed, "outputSchema")
		return schema, nil
	}
	return nil, nil //nolint:nilnil // there is no such tool
}
