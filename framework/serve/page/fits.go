package page

import (
	"encoding/json"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// fitting is the result of checking a structured result against the tool's output schema.
type fitting struct {
	Yes    bool   `json:"yes"`
	Unread bool   `json:"unread,omitempty"` // the page cannot read the schema, so it does not know
	Why    string `json:"why,omitempty"`    // why the result does not fit, or why the schema cannot be read
}

// schemas returns a schema of each tool, by name. The member of the tool is inputSchema or outputSchema.
func schemas(tools []offer, member string) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for _, tool := range tools {
		if schema, ok := jsontext.Member(tool.Listed, member); ok {
			all[tool.Name] = schema
		}
	}
	return all
}

// fits checks a result. If the tool has no output schema, it returns nil.
func (p *Page) fits(o order, result json.RawMessage) *fitting {
	p.mu.Lock()
	schema := p.outputs[o.Name]
	p.mu.Unlock()
	if o.Method != protocol.MethodCallTool || schema == nil || jsontext.Check(result, jsontext.DefaultLimits()) != nil || isError(result) {
		return nil
	}
	structured, has := jsontext.Member(result, "structuredContent")
	if !has {
		return &fitting{Why: "The tool has an output schema, and the result has no structured content."}
	}
	check, err := binding.CompileRaw(schema)
	if err != nil {
		return &fitting{Unread: true, Why: err.Error()}
	}
	if err := check.Check(structured); err != nil {
		return &fitting{Why: err.Error()}
	}
	return &fitting{Yes: true}
}
