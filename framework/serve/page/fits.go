package page

import (
	"encoding/json"
	"slices"

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

// schemaOf returns the member inputSchema or outputSchema of a tool, or nil.
func (p *Page) schemaOf(tool, member string) json.RawMessage {
	p.mu.Lock()
	all := p.offered
	p.mu.Unlock()
	if all == nil {
		return nil
	}
	for _, one := range slices.Backward(all.Tools) { // if several tools have the name, the last one counts
		if one.Name != tool {
			continue
		}
		if schema, ok := jsontext.Member(one.Listed, member); ok {
			return schema
		}
	}
	return nil
}

// fits checks a result. If the tool has no output schema, it returns nil.
func (p *Page) fits(o order, result json.RawMessage) *fitting {
	schema := p.schemaOf(o.Name, "outputSchema")
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
