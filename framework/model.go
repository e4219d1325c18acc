package framework

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kagami-mcp/kagami/framework/internal/catalog"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Model answers sampling requests on the server's side. It is called concurrently. To call tools of
// the request, return a Content with protocol.ToolUse blocks. If the Input of such a block is not a
// JSON object, the generation fails.
type Model interface {
	Generate(ctx context.Context, req *ModelRequest) (Generation, error)
}

// ModelRequest has the parameters of the sampling request that Generate would have sent to the
// client. The model may keep it, but must neither keep nor change the elements of its slices.
type ModelRequest struct {
	Messages      Messages
	System        string
	MaxTokens     int
	Tools         []protocol.Tool
	ToolChoice    string // "auto", "required", "none" or empty
	Temperature   *float64
	StopSequences []string
	Preferences   *protocol.ModelPreferences // nil without preferences
	Metadata      json.RawMessage            // nil without metadata
}

// WithModel sets the model that answers Generate if the client does not sample.
func WithModel(m Model) AppOption {
	return appOption{"WithModel", checked(m != nil, "the model is nil", func(c *appConfig) { c.model = m })}
}

// askModel asks a model of the app, once for each logical call. In later rounds the answer comes
// from the journal.
func (h *callCtx) askModel(ctx context.Context, m Model, key string, p protocol.Params) (protocol.Result, error) {
	asked, ok := p.(*protocol.CreateMessageParams)
	if !ok {
		return nil, fmt.Errorf("a model cannot answer %s", protocol.MethodOf(p))
	}
	journal := journalDialect()
	raw, err := h.call.Once(ctx, key+"/model", func(ctx context.Context) ([]byte, error) {
		g, err := guarded(func() (Generation, error) { return m.Generate(h.within(ctx, key+"/model"), requestOf(asked)) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", askingApp, err)
		}
		if err := usable(g.Content); err != nil {
			return nil, err
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
		return nil, &askError{doing: askingApp + ": reading its answer", cause: fault, own: true} // the caller is not at fault
	}
	return result, nil
}

// usable returns an error if the input of a tool call is not a JSON object, because a model may
// write it badly. In the journal, as in the protocol, anything else would become an empty object,
// and the tool would run.
func usable(content Content) error {
	for _, use := range usesOf(content) {
		if len(use.Input) > 0 && (jsontext.Check(use.Input, jsontext.DefaultLimits()) != nil || !isObject(use.Input)) {
			return fmt.Errorf("%s: the input for the tool %q is not a JSON object", askingApp, catalog.Clip(use.Name))
		}
	}
	return nil
}

const askingApp = "asking the app's model"

func requestOf(p *protocol.CreateMessageParams) *ModelRequest {
	return &ModelRequest{
		Messages: slices.Clone(p.Messages), System: p.System, MaxTokens: p.MaxTokens, Tools: p.Tools, ToolChoice: p.ToolChoice,
		Temperature: p.Temperature, StopSequences: p.StopSequences, Preferences: p.Preferences, Metadata: p.Metadata,
	}
}

// journalDialect returns the dialect for results in the journal. It is the newest
// one, which can express everything.
func journalDialect() *dialect.Dialect {
	all := dialect.All()
	return all[len(all)-1]
}
