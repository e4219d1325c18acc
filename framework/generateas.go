package framework

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/framework/internal/binding/jsonedit"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// modelAnswer decodes a model's answer into a Go value.
type modelAnswer struct {
	into reflect.Value
	plan *answerPlan // nil for a Generation, a text or any JSON
}

// answerPlan is the compiled type of answers. It is compiled once for each server.
type answerPlan struct {
	plan    *binding.Plan
	wrapper reflect.Type // {"value": ...} around a type that is not an object; otherwise nil
}

var typeGeneration = reflect.TypeFor[Generation]()

func (s *Server) modelAnswer(into reflect.Value) (*modelAnswer, error) {
	switch t := into.Type(); t {
	case typeGeneration, typeRaw, typeText:
		return &modelAnswer{into: into}, nil
	default:
		plan, err := s.answerPlan(t)
		return &modelAnswer{into: into, plan: plan}, err
	}
}

func (s *Server) answerPlan(t reflect.Type) (*answerPlan, error) {
	if cached, ok := s.answers.Load(t); ok {
		return cached.(*answerPlan), nil
	}
	p := &answerPlan{}
	plan, faults := binding.Compile(t, binding.Input, s.cfg.plans)
	if plan == nil {
		p.wrapper = reflect.StructOf([]reflect.StructField{{Name: "Value", Type: t, Tag: `json:"value"`}})
		plan, _ = binding.Compile(p.wrapper, binding.Input, s.cfg.plans)
	}
	if plan == nil {
		return nil, errors.New("preparing the type of the answer: " + firstFault(faults))
	}
	p.plan = plan
	s.answers.Store(t, p)
	return p, nil
}

// instruction returns the text that describes the form of the answer. It is added to the prompt,
// because clients may leave out a system prompt (client/sampling).
func (a *modelAnswer) instruction() string {
	switch {
	case a.plan != nil:
		return "\n\nAnswer with one JSON value and nothing else. It must fit this JSON Schema:\n" + string(a.plan.plan.Schema())
	case a.into.Type() == typeRaw:
		return "\n\nAnswer with one JSON value and nothing else."
	}
	return ""
}

// answerFault describes why an answer does not fit. toModel has all details; toLog does not contain any
// of the answer.
type answerFault struct{ toModel, toLog string }

// decode stores the answer in a.into. If the answer does not fit, it returns an answerFault.
func (a *modelAnswer) decode(ctx context.Context, g Generation) (*answerFault, error) {
	switch a.into.Type() {
	case typeGeneration:
		a.into.Set(reflect.ValueOf(g))
		return nil, nil
	case typeText:
		a.into.SetString(g.Text())
		return nil, nil
	}
	raw, err := jsonIn(g.Text())
	if err != nil {
		return &answerFault{"The answer is not JSON: " + binding.Sentence(err.Error()) + " Answer with one JSON value and nothing else.", "not JSON"}, nil
	}
	if a.plan == nil {
		a.into.SetBytes(raw)
		return nil, nil
	}
	err = a.plan.decode(ctx, raw, a.into)
	if invalid, ok := errors.AsType[*binding.Invalid](err); ok {
		callCtxFrom(ctx).logCause(ctx, invalid)
		return &answerFault{invalid.Text("The answer") + "\n\nAnswer again, with the whole JSON value and nothing else.", faultsOnly(invalid)}, nil
	}
	return nil, err
}

func (p *answerPlan) decode(ctx context.Context, raw []byte, into reflect.Value) error {
	into.SetZero()
	if p.wrapper == nil {
		_, err := p.plan.Decode(ctx, raw, into)
		return err
	}
	if _, wrapped := jsontext.Member(raw, "value"); !wrapped { // models answer with the bare value
		raw = append(jsonedit.AppendMember([]byte{'{'}, "value", raw), '}')
	}
	value := reflect.New(p.wrapper).Elem()
	_, err := p.plan.Decode(ctx, raw, value)
	if err == nil {
		into.Set(value.Field(0))
	}
	return err
}

// jsonIn returns the JSON in a text. Models often put JSON into a code fence.
func jsonIn(text string) (json.RawMessage, error) {
	limits := jsontext.DefaultLimits()
	text = strings.TrimSpace(text)
	err := jsontext.Check([]byte(text), limits)
	if err == nil {
		return json.RawMessage(text), nil
	}
	_, fenced, ok := strings.Cut(text, "```")
	if !ok {
		return nil, err
	}
	first, _, _ := strings.Cut(fenced, "```")
	last := fenced // up to the last fence: a text of the JSON may have fences, too
	if i := strings.LastIndex(fenced, "```"); i >= 0 {
		last = fenced[:i]
	}
	for _, inside := range []string{first, last} {
		inside = withoutLanguage(inside)
		if err = jsontext.Check([]byte(inside), limits); err == nil {
			return json.RawMessage(inside), nil
		}
	}
	return nil, err
}

// withoutLanguage returns the content of a code fence without the name of its language.
func withoutLanguage(fenced string) string {
	if i := strings.IndexAny(fenced, "{[\"-0123456789\n"); i > 0 {
		fenced = fenced[i:]
	}
	return strings.TrimSpace(fenced)
}
