package framework

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// Model answers sampling on the server's side. It is called concurrently. A
// Content with protocol.ToolUse blocks asks for tools of the request.
type Model interface {
	Generate(ctx context.Context, req *ModelRequest) (Generation, error)
}

// ModelRequest is what Generate would have asked of the client. It is the model's
// to keep, but for what its slices hold.
type ModelRequest struct {
	Messages      Messages
	System        string
	MaxTokens     int
	Tools         []protocol.Tool
	ToolChoice    string // "auto", "required", "none" or empty
	Temperature   *float64
	StopSequences []string
	Preferences   *protocol.ModelPreferences // nil: none
	Metadata      json.RawMessage            // nil: none
}

// WithModel answers Generate where the client does not sample.
func WithModel(m Model) AppOption {
	return appOption{"WithModel", func(c *appConfig) string {
		if m == nil {
			return "the model is nil"
		}
		c.model = m
		return ""
	}}
}

// askModel asks a model of the app, once for each logical call: in later rounds its
// answer comes from the journal.
func (h *handling) askModel(ctx context.Context, m Model, key string, p protocol.Params) (protocol.Result, error) {
	asked, ok := p.(*protocol.CreateMessageParams)
	if !ok {
		return nil, fmt.Errorf("a model cannot answer %s", p.Method())
	}
	journal := journalDialect()
	raw, err := h.call.Once(ctx, key+"/model", func(ctx context.Context) ([]byte, error) {
		g, err := guarded(h.within(ctx, key+"/model"), m.Generate, requestOf(asked))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", askingApp, err)
		}
		return journal.AppendResult(nil, &protocol.CreateMessageResult{
			Role: protocol.RoleAssistant, Content: g.Content, Model: g.Model, StopReason: g.StopReason,
		}, nil)
	})
	if err != nil {
		return nil, err
	}
	result, fault := journal.DecodeResult(protocol.MethodCreateMessage, raw)
	if fault != nil {
		return nil, fmt.Errorf("%s: reading its answer: %w", askingApp, fault)
	}
	return result, nil
}

const askingApp = "asking the app's model"

func requestOf(p *protocol.CreateMessageParams) *ModelRequest {
	return &ModelRequest{
		Messages: slices.Clone(p.Messages), System: p.System, MaxTokens: p.MaxTokens, Tools: p.Tools, ToolChoice: p.ToolChoice,
		Temperature: p.Temperature, StopSequences: p.StopSequences, Preferences: p.Preferences, Metadata: p.Metadata,
	}
}

// journalDialect is how results are written into the journal: the newest, which
// can say everything.
func journalDialect() *dialect.Dialect {
	all := dialect.All()
	return all[len(all)-1]
}
