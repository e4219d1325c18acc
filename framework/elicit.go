package framework

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/internal/binding"
	"github.com/kagami-mcp/kagami/framework/internal/catalog"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// question holds the options of a question to the user.
type question struct {
	prefill  any // a value of the question's type; nil without Prefill
	choices  map[string][]Choice
	schema   json.RawMessage // set by Form; if nil, the schema is derived from the type
	attempts int
	name     string // set by Key
}

func questionOf(opts []AskOption) *question {
	q := &question{attempts: defaultAttempts}
	for _, o := range opts {
		switch o := o.(type) {
		case askOption:
			o(q)
		case keyOption:
			q.name = string(o)
		}
	}
	return q
}

// defaultAttempts is the number of answers that are checked before a question fails.
const defaultAttempts = 3

// Prefill uses the fields of v as defaults of the form, including zero values. Fields that are nil,
// or empty with omitempty, have no default. T must be the type of the question; otherwise the
// question is an error.
func Prefill[T any](v T) AskOption { return askOption(func(q *question) { q.prefill = v }) }

// A Choice is one allowed value of a field.
type Choice struct {
	Value string
	Title string
}

// Choices limits a field to values that are known only at run time. The field is a string or a list
// of strings. If the type of the question is not a struct, the name of the field is "value". A list
// of plain strings must have choices, because forms cannot ask for arbitrary lists. If Choices is
// given twice for a field, the last one takes effect.
//
// If the field has an enum of its own, each choice must be one of its values. The question is an
// error if the field does not exist, if there are no choices, or if a choice occurs twice or is not
// in the enum.
func Choices(field string, choices ...Choice) AskOption {
	choices = slices.Clone(choices)
	return askOption(func(q *question) {
		if q.choices == nil {
			q.choices = make(map[string][]Choice)
		}
		q.choices[field] = choices
	})
}

// Form replaces the form that is derived from the type. T of the question must be json.RawMessage.
// The schema is a flat object of strings, numbers, booleans and lists of choices (2026-07-28
// client/elicitation "Requested Schema"). With any other schema, or together with Choices or
// Prefill, the question is an error.
func Form[S ~string | ~[]byte](schema S) AskOption {
	raw := append(json.RawMessage{}, schema...) // never nil, so that an empty schema is an error
	return askOption(func(q *question) { q.schema = raw })
}

// Attempts sets how many answers are checked before the question fails. The default is 3; less than
// 1 counts as 1. If the handler returns the error of the question, the model gets a text that says
// so.
func Attempts(n int) AskOption { return askOption(func(q *question) { q.attempts = n }) }

// An Answer is the outcome of an elicitation as data. A refusal is an Action, not an error.
type Answer[T any] struct {
	Action string // "accept", "decline" or "cancel"
	Value  T      // zero unless Action is "accept"
}

// Elicit asks the user. T is a flat struct, or a bool, a string, a number, an enum or a slice of
// enums of texts. A value that is not a struct is sent as {"value": ...}. A field with the tag
// secret is an error, because forms must not ask for secrets. A page of ElicitURL may.
//
// The answer is validated like arguments. Members that the form does not have are dropped. Optional
// fields that are null are also dropped, as are fields that are "" and are not free text. If the
// answer does not fit, the question is asked again, with an explanation for the user. If the user
// cannot correct the answer, such as a list where the form asks for a text, Elicit returns an error
// at once.
//
// Elicit returns ErrDeclined or ErrCancelled if the user refuses, and ErrUnsupported if the client
// cannot be asked. It returns ErrPending if the handler will run again with the answer. Otherwise
// it returns the error that ended the wait.
func Elicit[T any](ctx context.Context, message string, opts ...AskOption) (T, error) {
	answer, err := ElicitAnswer[T](ctx, message, opts...)
	if err == nil {
		err = refusal(answer.Action)
	}
	return answer.Value, err
}

// ElicitAnswer is like Elicit, but returns a refusal as an Action of the answer instead of an
// error.
func ElicitAnswer[T any](ctx context.Context, message string, opts ...AskOption) (Answer[T], error) {
	var answer Answer[T]
	h, err := asking(ctx, askingUser)
	if err != nil {
		return answer, err
	}
	q, err := h.formInquiry(message, opts, reflect.ValueOf(&answer.Value).Elem())
	if err != nil {
		return answer, err
	}
	err = h.settle(ctx, q)[0]
	answer.Action = q.action
	return answer, err
}

const askingUser = "asking the user"

// refusal returns the error for a refusing action, or nil.
func refusal(action string) error {
	switch action {
	case "decline":
		return ErrDeclined
	case "cancel":
		return ErrCancelled
	}
	return nil
}

// formInquiry is a question to the user with a form.
type formInquiry struct {
	*question
	h       *callCtx
	form    *form
	message string
	text    string // text of the next question: the message, and what was wrong with the last answer
	attempt int
	value   reflect.Value
	action  string
	refuses bool // a refusal is returned as an error
}

func (h *callCtx) formInquiry(message string, opts []AskOption, value reflect.Value) (*formInquiry, error) {
	q := questionOf(opts)
	f, err := h.server.form(value.Type(), q)
	if err != nil {
		return nil, fmt.Errorf("preparing the question %q: %w", message, err)
	}
	return &formInquiry{question: q, h: h, form: f, message: message, text: message, value: value}, nil
}

func (q *formInquiry) key() string { return q.name }

func (*formInquiry) answerer() Model { return nil }

func (q *formInquiry) needs() requirement {
	return requirement{askingUser, &protocol.ClientCapabilities{Elicitation: true}, q.h.call.Capabilities().Elicitation}
}

func (q *formInquiry) params(string) (protocol.Params, error) {
	return &protocol.ElicitParams{Message: q.text, Schema: q.form.schema}, nil
}

func (q *formInquiry) take(ctx context.Context, _ string, r protocol.Result) (bool, error) {
	answer, err := elicited(r)
	if err != nil {
		return true, err
	}
	if q.action = answer.Action; q.action != "accept" {
		if q.refuses {
			err = refusal(q.action)
		}
		return true, err
	}
	content := tidied(q.form.schema, answer.Content)
	err = q.form.decode(ctx, content, q.value)
	invalid, ok := errors.AsType[*binding.Invalid](err)
	if !ok {
		return true, err
	}
	q.value.SetZero()
	q.h.logCause(ctx, invalid)
	if q.attempt++; q.attempt >= q.attempts {
		return true, Because(noValidAnswer("user", q.attempt), &askError{doing: askingUser, cause: errors.New(faultsOnly(invalid))})
	}
	words := q.form.toPerson(invalid, content)
	if words == "" {
		return true, &askError{doing: askingUser, cause: fmt.Errorf("the client answered with what the form does not ask for: %s", faultsOnly(invalid))}
	}
	q.text = q.message + "\n\n" + words
	return false, nil
}

// noValidAnswer returns the error for a question that got no valid answer. The model sees its text,
// as it sees a refusal by the user.
func noValidAnswer(who string, attempts int) error {
	return UserErrorf("The %s gave no valid answer in %d attempts.", who, attempts)
}

// faultsOnly lists the paths and rules of the issues of an answer. It is for the log, which must
// not contain the answers of users.
func faultsOnly(invalid *binding.Invalid) string {
	var faults []string
	for _, issue := range invalid.Issues {
		faults = append(faults, issue.Path+" ("+issue.Rule+")")
	}
	return strings.Join(faults, ", ")
}

// elicited returns r as an answer of the user. It returns an error if r has another type or an
// invalid action.
func elicited(r protocol.Result) (*protocol.ElicitResult, error) {
	answer, ok := r.(*protocol.ElicitResult)
	if !ok {
		return nil, &askError{doing: askingUser, cause: fmt.Errorf("the client answered with a %T", r)}
	}
	switch answer.Action {
	case "accept", "decline", "cancel":
		return answer, nil
	}
	return nil, &askError{doing: askingUser, cause: fmt.Errorf("the client answered with the action %q", answer.Action)}
}

// form is the compiled type of a question, with the changes by its options.
type form struct {
	plan    *binding.Plan // nil if the schema comes from Form
	raw     *binding.Raw  // compiled schema of Form; otherwise nil
	schema  json.RawMessage
	choices map[string][]Choice
}

// form returns the form for a value of type t. The type is compiled once for each server; the
// options are applied each time.
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
			return nil, fmt.Errorf("Prefill: got a %s, want a %s", v.Type(), t)
		}
		if f.schema, err = prefilled(plan, f.schema, v); err != nil {
			return nil, err
		}
	}
	if len(q.choices) > 0 {
		if f.schema, err = chosen(f.schema, q.choices); err != nil {
			return nil, err
		}
	}
	if name, open := openList(f.schema); open {
		return nil, fmt.Errorf("the list %q may hold any text, which no form can ask for: give it Choices, or an enum as its element", name)
	}
	return f, nil
}

func rawForm(t reflect.Type, q *question) (*form, error) {
	if t != typeRaw {
		return nil, fmt.Errorf("Form: got an answer of type %s, want json.RawMessage", t)
	}
	if q.prefill != nil || len(q.choices) > 0 {
		return nil, errors.New("Form describes the whole form: remove Choices and Prefill")
	}
	raw, err := binding.CompileRaw(q.schema)
	if err == nil {
		err = flat(raw.Schema())
	}
	if err != nil {
		return nil, fmt.Errorf("reading the schema of Form: %w", err)
	}
	return &form{raw: raw, schema: raw.Schema()}, nil
}

func (s *Server) formPlan(t reflect.Type) (*binding.Plan, error) {
	if cached, ok := s.forms.Load(t); ok {
		return cached.(*binding.Plan), nil
	}
	plan, faults := binding.Compile(t, binding.Form, binding.Options{Checks: s.cfg.plans.Checks})
	if plan == nil {
		return nil, errors.New(strings.TrimPrefix(firstFault(faults), "In.")) // drop the prefix: the type is not the input of a tool
	}
	s.forms.Store(t, plan)
	return plan, nil
}

// decode checks an answer and stores it in value. If another attempt may help, the error is a
// *binding.Invalid.
func (f *form) decode(ctx context.Context, content json.RawMessage, value reflect.Value) error {
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
	// The order must be the same each time. If a handler runs again and asks in other words, its
	// answer is not found.
	for _, field := range slices.Sorted(maps.Keys(f.choices)) {
		raw, ok := jsontext.Member(content, field)
		if !ok {
			continue
		}
		for _, value := range textsOf(raw) {
			if !slices.ContainsFunc(f.choices[field], func(c Choice) bool { return c.Value == value }) {
				issues = append(issues, binding.Issue{
					Path: "/" + field, Got: fmt.Sprintf("%q (text)", catalog.Clip(value)), Want: "one of the choices", Rule: "oneof",
				})
			}
		}
	}
	if issues == nil {
		return nil
	}
	return binding.NewInvalid(issues...)
}

// textsOf returns the string in raw, or the strings of the list in raw.
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
