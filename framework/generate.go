package framework

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
)

// GenerateOption configures one question to the model. Sealed.
type GenerateOption interface{ generateOption() }

type generateOption func(*protocol.CreateMessageParams)

func (generateOption) generateOption() {}

// Generation is what the model said.
type Generation struct {
	Model      string
	Content    Content
	StopReason string
	Turns      int
}

// Text of all text blocks.
func (g Generation) Text() string {
	var texts []string
	for _, b := range g.Content {
		if t, ok := b.(protocol.Text); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// defaultMaxTokens bounds a turn that names no bound: the specification wants one.
const defaultMaxTokens = 1024

// Generate asks the client's model. The error is ErrUnsupported where the client
// does not sample, ErrDeclined where its user refused.
func Generate(ctx context.Context, prompt string, opts ...GenerateOption) (Generation, error) {
	h := handlingFrom(ctx)
	if h == nil || h.call == nil {
		return Generation{}, &unsupportedError{what: "asking the client's model works in a handler only"}
	}
	p := &protocol.CreateMessageParams{MaxTokens: defaultMaxTokens}
	for _, o := range opts {
		if opt, ok := o.(generateOption); ok {
			opt(p)
		}
	}
	p.Messages = append(p.Messages, User(prompt))
	result, err := h.call.Ask(ctx, p, nil)
	if err != nil {
		need := &protocol.ClientCapabilities{Sampling: true}
		return Generation{}, h.askFailure(ctx, err, "asking the client's model", need, h.call.Capabilities().Sampling)
	}
	said, ok := result.(*protocol.CreateMessageResult)
	if !ok {
		return Generation{}, &askError{doing: "asking the client's model", cause: fmt.Errorf("the client answered with a %T", result)}
	}
	return Generation{Model: said.Model, Content: said.Content, StopReason: said.StopReason, Turns: 1}, nil
}

func generating(apply func(*protocol.CreateMessageParams)) GenerateOption {
	return generateOption(apply)
}

// MaxTokens of one turn; default 1024.
func MaxTokens(n int) GenerateOption {
	return generating(func(p *protocol.CreateMessageParams) { p.MaxTokens = n })
}

// System prompt.
func System(text string) GenerateOption {
	return generating(func(p *protocol.CreateMessageParams) { p.System = text })
}

// Temperature of sampling.
func Temperature(t float64) GenerateOption {
	return generating(func(p *protocol.CreateMessageParams) { p.Temperature = &t })
}

// History comes before the prompt.
func History(m ...protocol.Message) GenerateOption {
	return generating(func(p *protocol.CreateMessageParams) { p.Messages = append(p.Messages, m...) })
}

// Hints name preferred models.
func Hints(models ...string) GenerateOption {
	return generating(func(p *protocol.CreateMessageParams) { preferences(p).Hints = slices.Clone(models) })
}

// Priorities between 0 and 1.
func Priorities(cost, speed, intelligence float64) GenerateOption {
	return generating(func(p *protocol.CreateMessageParams) {
		w := preferences(p)
		w.Cost, w.Speed, w.Intelligence = &cost, &speed, &intelligence
	})
}

// StopSequences end a turn.
func StopSequences(texts ...string) GenerateOption {
	return generating(func(p *protocol.CreateMessageParams) { p.StopSequences = slices.Clone(texts) })
}

func preferences(p *protocol.CreateMessageParams) *protocol.ModelPreferences {
	if p.Preferences == nil {
		p.Preferences = &protocol.ModelPreferences{}
	}
	return p.Preferences
}

// Roots of the client. The error is ErrUnsupported where the client has none to
// tell of.
func Roots(ctx context.Context) ([]protocol.Root, error) {
	h := handlingFrom(ctx)
	if h == nil || h.call == nil {
		return nil, &unsupportedError{what: "asking for roots works in a handler only"}
	}
	result, err := h.call.Ask(ctx, &protocol.ListRootsParams{}, nil)
	if err != nil {
		need := &protocol.ClientCapabilities{Roots: true}
		return nil, h.askFailure(ctx, err, "asking for roots", need, h.call.Capabilities().Roots)
	}
	listed, ok := result.(*protocol.ListRootsResult)
	if !ok {
		return nil, &askError{doing: "asking for roots", cause: fmt.Errorf("the client answered with a %T", result)}
	}
	return listed.Roots, nil
}
