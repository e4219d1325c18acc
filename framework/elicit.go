package framework

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// AskOption configures one question to the user. Sealed.
type AskOption interface{ askOption() }

type askOption func(*question)

func (askOption) askOption() {}

// question is what the options of a question decide.
type question struct {
	prefill  any // a value of the question's type; nil: none
	choices  map[string][]Choice
	schema   json.RawMessage // of Form; nil: reflected
	attempts int
}

// Prefill offers v's fields as defaults. T is the question's type.
func Prefill[T any](v T) AskOption { return askOption(func(q *question) { q.prefill = v }) }

// Choice is one allowed value.
type Choice struct {
	Value string
	Title string
}

// Choices limits a field to values known only at run time. The field of a
// question that is no struct is "value".
func Choices(field string, choices ...Choice) AskOption {
	return askOption(func(q *question) {
		if q.choices == nil {
			q.choices = make(map[string][]Choice)
		}
		q.choices[field] = choices
	})
}

// Form replaces the reflected form; T is json.RawMessage.
func Form[S ~string | ~[]byte](schema S) AskOption {
	raw := json.RawMessage(schema)
	return askOption(func(q *question) { q.schema = raw })
}

// Attempts at a valid answer before the question fails; default 3.
func Attempts(n int) AskOption { return askOption(func(q *question) { q.attempts = n }) }

// Answer is an elicitation as data: no error for decline and cancel.
type Answer[T any] struct {
	Action string // "accept", "decline", "cancel"
	Value  T
}

// Elicit asks the user. T is a flat struct, or bool, string, a number, an enum
// or a slice of enums, which travel as {"value": ...}.
//
// The answer is validated like arguments, and asked for again with an
// explanation where it does not fit. The error is ErrDeclined or ErrCancelled as
// the user decided, ErrUnsupported where the client cannot be asked, or what
// ended the wait.
func Elicit[T any](ctx context.Context, message string, opts ...AskOption) (T, error) {
	answer, err := ElicitAnswer[T](ctx, message, opts...)
	switch {
	case err != nil:
		return answer.Value, err
	case answer.Action == "decline":
		return answer.Value, ErrDeclined
	case answer.Action == "cancel":
		return answer.Value, ErrCancelled
	}
	return answer.Value, nil
}

// ElicitAnswer asks the user and returns a refusal as data.
func ElicitAnswer[T any](ctx context.Context, message string, opts ...AskOption) (Answer[T], error) {
	var answer Answer[T]
	action, err := elicit(ctx, message, opts, reflect.ValueOf(&answer.Value).Elem())
	answer.Action = action
	return answer, err
}

// elicit asks until the answer fits into value, and returns the action.
func elicit(ctx context.Context, message string, opts []AskOption, value reflect.Value) (string, error) {
	h := handlingFrom(ctx)
	if h == nil || h.call == nil {
		return "", &unsupportedError{what: "asking the user works in a handler only"}
	}
	q := &question{attempts: 3}
	for _, o := range opts {
		if opt, ok := o.(askOption); ok {
			opt(q)
		}
	}
	f, err := h.server.form(value.Type(), q)
	if err != nil {
		return "", fmt.Errorf("preparing the question %q: %w", message, err)
	}
	text := message
	for attempt := 1; ; attempt++ {
		result, err := h.askUser(ctx, text, f.schema)
		if err != nil || result.Action != "accept" {
			return actionOf(result), err
		}
		err = f.decode(ctx, result.Content, value)
		var invalid *binding.Invalid
		switch {
		case err == nil:
			return result.Action, nil
		case !errors.As(err, &invalid):
			return "", err
		case attempt >= q.attempts:
			return "", &askError{doing: "asking the user", cause: fmt.Errorf("no valid answer in %d attempts: %w", attempt, invalid)}
		}
		text = message + "\n\n" + invalid.Text("The answer")
	}
}

func actionOf(r *protocol.ElicitResult) string {
	if r == nil {
		return ""
	}
	return r.Action
}

// askUser sends one form and waits for what the user did with it.
func (h *handling) askUser(ctx context.Context, message string, schema json.RawMessage) (*protocol.ElicitResult, error) {
	result, err := h.call.Ask(ctx, &protocol.ElicitParams{Message: message, Schema: schema}, nil)
	if err != nil {
		need := &protocol.ClientCapabilities{Elicitation: true}
		return nil, h.askFailure(ctx, err, "asking the user", need, h.call.Capabilities().Elicitation)
	}
	answer, ok := result.(*protocol.ElicitResult)
	if !ok {
		return nil, &askError{doing: "asking the user", cause: fmt.Errorf("the client answered with a %T", result)}
	}
	switch answer.Action {
	case "accept", "decline", "cancel":
		return answer, nil
	}
	return nil, &askError{doing: "asking the user", cause: fmt.Errorf("the client answered with the action %q", answer.Action)}
}

// askFailure translates what Ask returned.
func (h *handling) askFailure(ctx context.Context, err error, doing string, need *protocol.ClientCapabilities, has bool) error {
	var fault *protocol.Fault
	switch {
	case errors.Is(err, engine.ErrCannotAsk):
		unsupported := &unsupportedError{what: doing + " is not possible with this client"}
		if !has {
			unsupported.missing = need
		}
		return unsupported
	case ctx.Err() != nil:
		return err
	case errors.As(err, &fault) && fault.Kind == protocol.FaultRejected:
		return ErrDeclined
	}
	return &askError{doing: doing, cause: err}
}

// form is a question's type, compiled, with what this asking adds.
type form struct {
	plan    *binding.Plan // nil: of Form
	raw     *binding.Raw  // of Form
	schema  json.RawMessage
	choices map[string][]Choice
}

// form compiles T once for each server, and applies the options.
func (s *Server) form(t reflect.Type, q *question) (*form, error) {
	if q.schema != nil {
		return rawForm(t, q)
	}
	plan, err := s.formPlan(t)
	if err != nil {
		return nil, err
	}
	f := &form{plan: plan, schema: plan.Schema(), choices: q.choices}
	if q.prefill != nil {
		v := reflect.ValueOf(q.prefill)
		if v.Type() != t {
			return nil, fmt.Errorf("Prefill has a %s, the question a %s", v.Type(), t)
		}
		if f.schema, err = prefilled(plan, f.schema, v); err != nil {
			return nil, err
		}
	}
	if len(q.choices) > 0 {
		f.schema, err = chosen(f.schema, q.choices)
	}
	return f, err
}

func rawForm(t reflect.Type, q *question) (*form, error) {
	if t != typeRaw {
		return nil, fmt.Errorf("Form needs a json.RawMessage as answer, not a %s", t)
	}
	raw, err := binding.CompileRaw(q.schema)
	if err != nil {
		return nil, fmt.Errorf("reading the schema of Form: %w", err)
	}
	return &form{raw: raw, schema: raw.Schema()}, nil
}

func (s *Server) formPlan(t reflect.Type) (*binding.Plan, error) {
	if cached, ok := s.forms.Load(t); ok {
		return cached.(*binding.Plan), nil
	}
	plan, faults := binding.Compile(t, binding.Form, binding.Options{})
	if plan == nil {
		return nil, errors.New(firstFault(faults))
	}
	s.forms.Store(t, plan)
	return plan, nil
}

// decode judges an answer. The error is an *Invalid where asking again may help.
func (f *form) decode(ctx context.Context, content json.RawMessage, value reflect.Value) error {
	if len(content) == 0 {
		content = json.RawMessage("{}")
	}
	if f.raw != nil {
		if err := f.raw.Check(content); err != nil {
			return err
		}
		value.SetBytes(append([]byte(nil), content...))
		return nil
	}
	if _, err := f.plan.Decode(ctx, content, value); err != nil {
		return err
	}
	return f.checkChoices(content)
}

func (f *form) checkChoices(content json.RawMessage) error {
	var issues []binding.Issue
	for field, choices := range f.choices {
		raw, ok := jsontext.Member(content, field)
		if !ok {
			continue
		}
		for _, value := range textsOf(raw) {
			if !slices.ContainsFunc(choices, func(c Choice) bool { return c.Value == value }) {
				issues = append(issues, binding.Issue{
					Path: "/" + field, Got: fmt.Sprintf("%q (text)", clip(value)), Want: "one of the choices", Rule: "oneof",
				})
			}
		}
	}
	if issues == nil {
		return nil
	}
	return binding.NewInvalid(issues...)
}

// textsOf are the strings of a string or of a list of them.
func textsOf(raw []byte) []string {
	if text, ok := jsontext.String(raw); ok {
		return []string{text}
	}
	var out []string
	for item := range jsontext.Elements(raw) {
		if text, ok := jsontext.String(item); ok {
			out = append(out, text)
		}
	}
	return out
}
