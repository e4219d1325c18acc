package framework

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
)

// Generation is what the model said. Turns counts how often it was asked: more than once if
// it used tools.
type Generation struct {
	Model      string
	Content    Content
	StopReason string
	Turns      int
}

// Text returns the text of all text blocks.
func (g Generation) Text() string { return textOf(g.Content) }

// Defaults of a generation.
const (
	defaultMaxTokens = 1024 // the specification requires a bound for each turn
	defaultMaxTurns  = 10
)

// generation holds the options of a question to a model.
type generation struct {
	request   protocol.CreateMessageParams
	tools     []Component
	maxTurns  int
	preferApp bool
	name      string // of Key
	fault     error
}

// Generate asks the client's model, or the app's if the client does not sample (see
// [WithModel], [PreferApp]). The error is ErrUnsupported if there is neither, ErrDeclined
// if the client's user refused, ErrPending if the handler will run again with the answer,
// or whatever ended the wait.
func Generate(ctx context.Context, prompt string, opts ...GenerateOption) (Generation, error) {
	return GenerateAs[Generation](ctx, prompt, opts...)
}

// GenerateAs decodes and validates the answer as T, like the arguments of a tool: the model
// is told the schema and, if its answer does not fit, asked again, at most twice. A string
// is the text as it is, a json.RawMessage any JSON, a Generation what Generate returns.
// Errors are those of Generate.
func GenerateAs[T any](ctx context.Context, prompt string, opts ...GenerateOption) (T, error) {
	var answer T
	h, err := asking(ctx, askingModel)
	if err != nil {
		return answer, err
	}
	q, err := h.modelInquiry(prompt, opts, reflect.ValueOf(&answer).Elem())
	if err != nil {
		return answer, err
	}
	err = h.settle(ctx, q)[0]
	return answer, err
}

const askingModel = "asking the client's model"

// modelInquiry asks the client's model or the app's.
type modelInquiry struct {
	*generation
	h        *handling
	model    Model // nil: that of the client
	offer    *offer
	answer   *modelAnswer
	messages []protocol.Message
	turns    int
	attempt  int
}

func (h *handling) modelInquiry(prompt string, opts []GenerateOption, into reflect.Value) (*modelInquiry, error) {
	g := &generation{maxTurns: defaultMaxTurns}
	g.request.MaxTokens = defaultMaxTokens
	for _, o := range opts {
		switch o := o.(type) {
		case generateOption:
			o(g)
		case keyOption:
			g.name = string(o)
		}
	}
	if g.fault != nil {
		return nil, g.fault
	}
	answer, err := h.server.modelAnswer(into)
	if err != nil {
		return nil, err
	}
	offer, err := h.server.offer(h, g.tools)
	if err != nil {
		return nil, err
	}
	q := &modelInquiry{generation: g, h: h, offer: offer, answer: answer}
	q.model = q.chosen()
	q.messages = append(slices.Clip(g.request.Messages), User(prompt+answer.instruction()))
	return q, nil
}

// chosen is the app's model if that may or must answer, else nil.
func (q *modelInquiry) chosen() Model {
	app := q.h.server.cfg.model
	if app != nil && (q.preferApp || !q.h.call.MayAsk() || !q.needs().has) {
		return app
	}
	return nil
}

func (q *modelInquiry) key() string { return q.name }

func (q *modelInquiry) answerer() Model { return q.model }

// needs: tools may be offered only to clients that declared so (2025-11-25
// client/sampling "Tools in Sampling").
func (q *modelInquiry) needs() need {
	can := q.h.call.Capabilities()
	n := need{askingModel, &protocol.ClientCapabilities{Sampling: true}, can.Sampling}
	if len(q.tools) > 0 {
		n.doing += " with tools"
		n.able.SamplingTool = true
		n.has = can.Sampling && can.SamplingTool && q.h.call.Dialect.SamplesWithTools()
	}
	return n
}

func (q *modelInquiry) params(string) (protocol.Params, error) {
	p := q.request
	p.Messages = slices.Clip(q.messages)
	p.ToolChoice = ""
	q.turns++
	if q.offer != nil {
		p.Tools, p.ToolChoice = q.offer.listed, q.choice()
	}
	if q.withoutContext() {
		p.IncludeContext = ""
	}
	return &p, nil
}

// withoutContext: from 2025-11-25 on a client says whether it can add context, and
// SHOULD NOT be asked for it otherwise (client/sampling "Capabilities").
func (q *modelInquiry) withoutContext() bool {
	return q.h.call.Dialect.SamplesWithTools() && !q.h.call.Capabilities().SamplingContext
}

// choice is the tool choice of the turn. A tool may be demanded only in the first turn, since
// the loop would not end otherwise, and none may be used in the last one, which is for the
// answer.
func (q *modelInquiry) choice() string {
	switch mode := q.request.ToolChoice; {
	case q.turns >= q.maxTurns:
		return "none"
	case mode == "required" && q.turns > 1:
		return "auto"
	default:
		return mode
	}
}

func (q *modelInquiry) take(ctx context.Context, base string, r protocol.Result) (bool, error) {
	said, ok := r.(*protocol.CreateMessageResult)
	if !ok {
		return true, &askError{doing: askingModel, cause: fmt.Errorf("the client answered with a %T", r)}
	}
	if uses := usesOf(said.Content); len(uses) > 0 && q.offer != nil {
		if q.turns >= q.maxTurns {
			return true, &askError{doing: askingModel, cause: fmt.Errorf("the model still asks for tools after %d turns", q.turns)}
		}
		results, err := q.offer.use(ctx, q.h, base, q.turns, uses)
		if err != nil {
			return true, err
		}
		q.say(said, results)
		return false, nil
	}
	g := Generation{Model: said.Model, Content: said.Content, StopReason: said.StopReason, Turns: q.turns}
	wrong, err := q.answer.decode(ctx, g)
	if err != nil || wrong == nil {
		return true, err
	}
	if q.attempt++; q.attempt >= defaultAttempts {
		return true, Because(noValidAnswer("model", q.attempt), errors.New(wrong.toLog))
	}
	q.say(said, []protocol.Block{protocol.Text{Text: wrong.toModel}})
	return false, nil
}

// say adds a message to the conversation.
func (q *modelInquiry) say(said *protocol.CreateMessageResult, reply []protocol.Block) {
	q.messages = append(q.messages, message(protocol.RoleAssistant, said.Content), message(protocol.RoleUser, reply))
}

func message(role protocol.Role, blocks []protocol.Block) protocol.Message {
	m := protocol.Message{Role: role, Content: protocol.Text{}}
	if len(blocks) > 0 {
		m.Content, m.More = blocks[0], blocks[1:]
	}
	return m
}

func generating(apply func(*protocol.CreateMessageParams)) GenerateOption {
	return generateOption(func(g *generation) { apply(&g.request) })
}

// MaxTokens limits one turn; default 1024. With less than 1 the question is an error.
func MaxTokens(n int) GenerateOption {
	return generateOption(func(g *generation) {
		if g.request.MaxTokens = n; n < 1 {
			g.fault = fmt.Errorf("MaxTokens(%d): an answer takes one at least", n)
		}
	})
}

// System sets the system prompt.
func System(text string) GenerateOption {
	return generating(func(p *protocol.CreateMessageParams) { p.System = text })
}

// Temperature sets the sampling temperature. With NaN or an infinite one the question is an
// error; which values a model takes is up to its provider.
func Temperature(t float64) GenerateOption {
	return generating(func(p *protocol.CreateMessageParams) { p.Temperature = &t })
}

// History puts messages before the prompt.
func History(m ...protocol.Message) GenerateOption {
	return generating(func(p *protocol.CreateMessageParams) { p.Messages = append(p.Messages, m...) })
}

// WithTools runs the tool loop with these tools: what the model asks for is called as a
// client would call it, middleware included, for the same principal, and the model is asked
// again with the results. A tool need not be registered in the app; a Set offers all of its
// tools. Tools for which the caller lacks scopes are not offered.
//
// In one turn the model may call 32 tools; further calls do not run, and the model is told
// so. In rounds a tool that has run does not run again: its result is journaled.
func WithTools(tools ...Component) GenerateOption {
	return generateOption(func(g *generation) { g.tools = append(g.tools, tools...) })
}

// MaxTurns limits the tool loop; default 10. In the last turn the model may not use tools;
// if it does so anyway, that is an error. With less than 1 the question is an error.
func MaxTurns(n int) GenerateOption {
	return generateOption(func(g *generation) {
		if g.maxTurns = n; n < 1 {
			g.fault = fmt.Errorf("MaxTurns(%d): a model is asked once at least", n)
		}
	})
}

// Hints names preferred models.
func Hints(models ...string) GenerateOption {
	return generating(func(p *protocol.CreateMessageParams) { preferences(p).Hints = slices.Clone(models) })
}

// Priorities weighs cost, speed and intelligence, each between 0 and 1; otherwise the
// question is an error.
func Priorities(cost, speed, intelligence float64) GenerateOption {
	return generateOption(func(g *generation) {
		for _, p := range []float64{cost, speed, intelligence} {
			if !(p >= 0 && p <= 1) {
				g.fault = fmt.Errorf("Priorities: %v is not between 0 and 1", p)
				return
			}
		}
		w := preferences(&g.request)
		w.Cost, w.Speed, w.Intelligence = &cost, &speed, &intelligence
	})
}

// StopSequences sets the texts that end a turn.
func StopSequences(texts ...string) GenerateOption {
	return generating(func(p *protocol.CreateMessageParams) { p.StopSequences = slices.Clone(texts) })
}

// ToolChoice sets the mode: "auto", "required" or "none". "required" applies to the first
// turn only, since the model must come to an end. With any other mode the question is an
// error.
func ToolChoice(mode string) GenerateOption {
	return generateOption(func(g *generation) {
		switch mode {
		case "auto", "required", "none":
			g.request.ToolChoice = mode
		default:
			g.fault = fmt.Errorf("ToolChoice(%q): there are auto, required and none", mode)
		}
	})
}

// IncludeContext asks the client to add context of its own: "none", "thisServer" or
// "allServers". With anything else the question is an error. It is not sent to clients that
// do not declare that they can (from 2025-11-25 on: sampling.context).
func IncludeContext(which string) GenerateOption {
	return generateOption(func(g *generation) {
		switch which {
		case "none", "thisServer", "allServers":
			g.request.IncludeContext = which
		default:
			g.fault = fmt.Errorf("IncludeContext(%q): there are none, thisServer and allServers", which)
		}
	})
}

// Metadata is passed to the provider of the model unchanged. v must encode to an object by
// encoding/json; otherwise the question is an error.
func Metadata(v any) GenerateOption {
	return generateOption(func(g *generation) {
		raw, err := json.Marshal(v)
		if err == nil && !isObject(raw) {
			err = fmt.Errorf("%T is no JSON object", v)
		}
		if err != nil {
			g.fault = fmt.Errorf("Metadata: %w", err)
			return
		}
		g.request.Metadata = raw
	})
}

// PreferApp asks the app's Model first, the client's second.
func PreferApp() GenerateOption {
	return generateOption(func(g *generation) { g.preferApp = true })
}

func preferences(p *protocol.CreateMessageParams) *protocol.ModelPreferences {
	if p.Preferences == nil {
		p.Preferences = &protocol.ModelPreferences{}
	}
	return p.Preferences
}
