package framework

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// A Generation is the answer of a model. Turns is the number of times that the model was asked; it
// is more than 1 if the model used tools or an answer did not fit.
type Generation struct {
	Model      string // name of the model, as the client or the app reports it
	Content    Content
	StopReason string // such as "endTurn" or "maxTokens"; may be empty
	Turns      int
}

// Text returns the text of all text blocks, joined by newlines.
func (g Generation) Text() string { return dialect.TextOf(g.Content) }

// Defaults of a generation.
const (
	defaultMaxTokens = 1024 // the specification requires a limit for each turn
	defaultMaxTurns  = 10
)

// generation holds the options of a question to a model.
type generation struct {
	request   protocol.CreateMessageParams
	tools     []Component
	maxTurns  int
	preferApp bool
	name      string // set by Key
	fault     error
}

// Generate asks the client's model. If the client does not support sampling, it asks the app's
// model (see [WithModel], [PreferApp]).
//
// Generate returns ErrUnsupported if there is no model, and ErrDeclined if the client's user
// refuses. It returns ErrPending if the handler will run again with the answer. Otherwise it
// returns the error that ended the wait.
func Generate(ctx context.Context, prompt string, opts ...GenerateOption) (Generation, error) {
	return GenerateAs[Generation](ctx, prompt, opts...)
}

// GenerateAs asks a model as Generate does, and decodes and validates the answer as T, like the
// arguments of a tool. The schema of T is added to the prompt. If the answer does not fit, the
// model is asked again, at most twice.
//
// If T is a string, the answer is the text unchanged. If T is json.RawMessage, it is any JSON. If T
// is Generation, it is what Generate returns. GenerateAs returns the same errors as Generate, and
// an error if no answer fits.
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

// modelInquiry is a question to the client's model or the app's model. It holds the conversation so
// far.
type modelInquiry struct {
	*generation
	h        *callCtx
	model    Model // nil if the client's model answers
	offer    *offer
	answer   *modelAnswer
	messages []protocol.Message
	turns    int
	attempt  int
}

func (h *callCtx) modelInquiry(prompt string, opts []GenerateOption, into reflect.Value) (*modelInquiry, error) {
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

// chosen returns the app's model if it is preferred or the client's model cannot be asked.
// Otherwise it returns nil.
func (q *modelInquiry) chosen() Model {
	app := q.h.server.cfg.model
	if app != nil && (q.preferApp || !q.h.call.MayAsk() || !q.needs().has) {
		return app
	}
	return nil
}

func (q *modelInquiry) key() string { return q.name }

func (q *modelInquiry) answerer() Model { return q.model }

// needs returns the capabilities for sampling. Tools may be offered only to clients that have
// declared support for them (2025-11-25 client/sampling "Tools in Sampling").
func (q *modelInquiry) needs() requirement {
	can := q.h.call.Capabilities()
	n := requirement{askingModel, &protocol.ClientCapabilities{Sampling: true}, can.Sampling}
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

// withoutContext reports whether IncludeContext is left out. From 2025-11-25 on, a client declares
// whether it can add context. Other clients SHOULD NOT be asked for it (client/sampling
// "Capabilities").
func (q *modelInquiry) withoutContext() bool {
	return q.h.call.Dialect.SamplesWithTools() && !q.h.call.Capabilities().SamplingContext
}

// choice returns the tool choice of the turn. A tool may be required only in the first turn;
// otherwise the loop would not end. Tools are not allowed in the last turn, because it is for the
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
			return true, &askError{doing: askingModel, cause: fmt.Errorf("the model still asks for tools after %d turns", q.turns), own: q.answerer() != nil}
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
		return true, Because(noValidAnswer("model", q.attempt), &askError{doing: "asking the model", cause: errors.New(wrong.toLog), own: q.answerer() != nil})
	}
	q.say(said, []protocol.Block{protocol.Text{Text: wrong.toModel}})
	return false, nil
}

// say adds the model's message and the reply to the conversation.
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

// MaxTokens limits the tokens of one turn. The default is 1024. If n is less than 1, the question
// is an error.
func MaxTokens(n int) GenerateOption {
	return generateOption(func(g *generation) {
		if g.request.MaxTokens = n; n < 1 {
			g.fault = fmt.Errorf("MaxTokens(%d): want 1 or more", n)
		}
	})
}

// System sets the system prompt.
func System(text string) GenerateOption {
	return generating(func(p *protocol.CreateMessageParams) { p.System = text })
}

// Temperature sets the sampling temperature. If t is NaN or infinite, the question is an error. The
// provider of the model decides which other values are valid.
func Temperature(t float64) GenerateOption {
	return generateOption(func(g *generation) {
		if g.request.Temperature = &t; math.IsNaN(t) || math.IsInf(t, 0) {
			g.fault = fmt.Errorf("Temperature(%v): want a finite number", t)
		}
	})
}

// History adds messages before the prompt.
func History(m ...protocol.Message) GenerateOption {
	m = slices.Clone(m)
	return generating(func(p *protocol.CreateMessageParams) { p.Messages = append(p.Messages, m...) })
}

// WithTools offers tools to the model and runs the tool loop. A tool that the model asks for is
// called as a client would call it: with middleware, for the same principal. The model is then
// asked again, with the results.
//
// A tool need not be registered in the app. A Set offers all of its tools. Tools are not offered if
// the caller lacks scopes for them.
//
// The model may call at most 32 tools in one turn. Further calls are not run; their tool results
// are errors that say so. In rounds, a tool that has run does not run again for the same call,
// because its result is in the journal. If the question has changed and the model then asks for
// another call, that call runs.
func WithTools(tools ...Component) GenerateOption {
	tools = slices.Clone(tools)
	return generateOption(func(g *generation) { g.tools = append(g.tools, tools...) })
}

// MaxTurns limits the turns of the tool loop. The default is 10. If n is less than 1, the question
// is an error. In the last turn the model may not use tools. If it does so anyway, the question
// fails with an error.
func MaxTurns(n int) GenerateOption {
	return generateOption(func(g *generation) {
		if g.maxTurns = n; n < 1 {
			g.fault = fmt.Errorf("MaxTurns(%d): want 1 or more", n)
		}
	})
}

// Hints sets the names of preferred models.
func Hints(models ...string) GenerateOption {
	models = slices.Clone(models)
	return generating(func(p *protocol.CreateMessageParams) { preferences(p).Hints = models })
}

// Priorities sets the weights of cost, speed and intelligence for the choice of the model. If one
// is not between 0 and 1, the question is an error.
func Priorities(cost, speed, intelligence float64) GenerateOption {
	return generateOption(func(g *generation) {
		for _, p := range []float64{cost, speed, intelligence} {
			if !(p >= 0 && p <= 1) {
				g.fault = fmt.Errorf("Priorities: got %v, want a number from 0 to 1", p)
				return
			}
		}
		w := preferences(&g.request)
		w.Cost, w.Speed, w.Intelligence = &cost, &speed, &intelligence
	})
}

// StopSequences sets texts that end a turn.
func StopSequences(texts ...string) GenerateOption {
	texts = slices.Clone(texts)
	return generating(func(p *protocol.CreateMessageParams) { p.StopSequences = texts })
}

// ToolChoice sets the mode "auto", "required" or "none". With any other mode the question is an
// error. "required" applies only to the first turn, because the model must be able to finish.
func ToolChoice(mode string) GenerateOption {
	return generateOption(func(g *generation) {
		if g.request.ToolChoice = mode; !slices.Contains([]string{"auto", "required", "none"}, mode) {
			g.fault = fmt.Errorf("ToolChoice(%q): want auto, required or none", mode)
		}
	})
}

// IncludeContext asks the client to add context of its own: "none", "thisServer" or "allServers".
// With any other value the question is an error. From 2025-11-25 on, it is sent only to clients
// that have declared sampling.context.
func IncludeContext(which string) GenerateOption {
	return generateOption(func(g *generation) {
		if g.request.IncludeContext = which; !slices.Contains([]string{"none", "thisServer", "allServers"}, which) {
			g.fault = fmt.Errorf("IncludeContext(%q): want none, thisServer or allServers", which)
		}
	})
}

// Metadata sets metadata that is passed unchanged to the provider of the model. If v does not
// encode to a JSON object, the question is an error.
func Metadata(v any) GenerateOption {
	return generateOption(func(g *generation) {
		raw, err := json.Marshal(v)
		if err == nil && !isObject(raw) {
			err = fmt.Errorf("%T does not encode as a JSON object", v)
		}
		if g.request.Metadata = raw; err != nil {
			g.fault = fmt.Errorf("Metadata: %w", err)
		}
	})
}

// PreferApp asks the app's model even if the client has one. If the app has no model, the client's
// is asked.
func PreferApp() GenerateOption {
	return generateOption(func(g *generation) { g.preferApp = true })
}

func preferences(p *protocol.CreateMessageParams) *protocol.ModelPreferences {
	if p.Preferences == nil {
		p.Preferences = &protocol.ModelPreferences{}
	}
	return p.Preferences
}
