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

// question holds the options of a question.
type question struct {
	prefill  any // a value of the question's type; nil: none
	choices  map[string][]Choice
	schema   json.RawMessage // given by Form; nil: reflected
	attempts int
	name     string // given by Key
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

// defaultAttempts is how many answers are tried.
const defaultAttempts = 3

// Prefill offers v's fields as defaults, zero values included; fields that are nil, or
// empty with omitempty, have none. T must be the question's type; otherwise the question is
// an error.
func Prefill[T any](v T) AskOption { return askOption(func(q *question) { q.prefill = v }) }

// Choice is one allowed value.
type Choice struct {
	Value string
	Title string
}

// Choices limits a field to values known only at run time; the last Choices for a field
// counts. The field is a string or a list of strings; if the question's type is not a
// struct, its name is "value". A list of plain strings must have choices: no form can ask
// for arbitrary lists. If the field has an enum of its own, the choices must be among its
// values.
//
// The question is an error, since nobody could answer it, if there is no such field, if
// there are no choices, or if a choice occurs twice or is not in the enum.
func Choices(field string, choices ...Choice) AskOption {
	return askOption(func(q *question) {
		if q.choices == nil {
			q.choices = make(map[string][]Choice)
		}
		q.choices[field] = choices
	})
}

// Form replaces the reflected form; T must be json.RawMessage. The form is a flat object of
// strings, numbers, booleans and lists of choices (2026-07-28 client/elicitation "Requested
// Schema"). With anything else, or together with Choices or Prefill, the question is an
// error.
func Form[S ~string | ~[]byte](schema S) AskOption {
	raw := json.RawMessage(schema)
	return askOption(func(q *question) { q.schema = raw })
}

// Attempts sets how many attempts at a valid answer there are before the question fails.
// The model is told so, unless the handler returns another error. Default 3; less than 1
// counts as 1.
func Attempts(n int) AskOption { return askOption(func(q *question) { q.attempts = n }) }

// Answer is the outcome of an elicitation as data: declining and cancelling are not errors.
type Answer[T any] struct {
	Action string // "accept", "decline", "cancel"
	Value  T
}

// Elicit asks the user. T is a flat struct, or bool, string, a number, an enum
// or a slice of enums, which travel as {"value": ...}. A field with the tag secret
// is an error: forms must not ask for secrets, pages (ElicitURL) may.
//
// The answer is validated like arguments. Optional fields that come back as null or "" where
// they are no free text, and members that the form has not, are dropped. If the answer does not
// fit, the question is asked again with an explanation for the person who reads it; it is an
// error at once if no person can mend it, such as a list where the form asks for a text. The error is ErrDeclined or ErrCancelled as the user decided,
// ErrUnsupported if the client cannot be asked, ErrPending if the handler will run again
// with the answer, or whatever ended the wait.
func Elicit[T any](ctx context.Context, message string, opts ...AskOption) (T, error) {
	answer, err := ElicitAnswer[T](ctx, message, opts...)
	if err == nil {
		err = refusal(answer.Action)
	}
	return answer.Value, err
}

// ElicitAnswer asks the user and returns a refusal as data.
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

// refusal is the error for an action, or nil.
func refusal(action string) error {
	switch action {
	case "decline":
		return ErrDeclined
	case "cancel":
		return ErrCancelled
	}
	return nil
}

// formInquiry asks the user for a value.
type formInquiry struct {
	*question
	h       *handling
	form    *form
	message string
	text    string // of the next question: the message, and what was wrong with the last answer
	attempt int
	value   reflect.Value
	action  string
	refuses bool // a refusal is an error
}

func (h *handling) formInquiry(message string, opts []AskOption, value reflect.Value) (*formInquiry, error) {
	q := questionOf(opts)
	f, err := h.server.form(value.Type(), q)
	if err != nil {
		return nil, fmt.Errorf("preparing the question %q: %w", message, err)
	}
	return &formInquiry{question: q, h: h, form: f, message: message, text: message, value: value}, nil
}

func (q *formInquiry) key() string { return q.name }

func (*formInquiry) answerer() Model { return nil }

func (q *formInquiry) needs() need {
	return need{askingUser, &protocol.ClientCapabilities{Elicitation: true}, q.h.call.Capabilities().Elicitation}
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
	var invalid *binding.Invalid
	if err == nil || !errors.As(err, &invalid) {
		return true, err
	}
	q.value.SetZero()
	q.h.logPanic(ctx, invalid)
	if q.attempt++; q.attempt >= q.attempts {
		return true, Because(noValidAnswer("user", q.attempt), errors.New(faultsOnly(invalid)))
	}
	words := q.form.toPerson(invalid, content)
	if words == "" {
		return true, &askError{doing: askingUser, cause: fmt.Errorf("the client answered with what the form does not ask for: %s", faultsOnly(invalid))}
	}
	q.text = q.message + "\n\n" + words
	return false, nil
}

// noValidAnswer is told to the model, as it is told that a user has declined.
func noValidAnswer(who string, attempts int) error {
	return UserErrorf("The %s gave no valid answer in %d attempts.", who, attempts)
}

// faultsOnly says where an answer does not fit and by which rule. It is for the log, which must
// not contain what users answer.
func faultsOnly(invalid *binding.Invalid) string {
	var faults []string
	for _, issue := range invalid.Issues {
		faults = append(faults, issue.Path+" ("+issue.Rule+")")
	}
	return strings.Join(faults, ", ")
}

// elicited is an answer whose action is a valid one.
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

// form is the compiled type of a question, with what its options add.
type form struct {
	plan    *binding.Plan // nil: the schema comes from Form
	raw     *binding.Raw  // of a schema from Form
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
		return nil, fmt.Errorf("Form needs a json.RawMessage as answer, not a %s", t)
	}
	if q.prefill != nil || len(q.choices) > 0 {
		return nil, errors.New("Form says all of the form: Choices and Prefill do not go with it")
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
		return nil, errors.New(strings.TrimPrefix(firstFault(faults), "In.")) // it is no input of a tool
	}
	s.forms.Store(t, plan)
	return plan, nil
}

// decode checks and stores an answer. The error is a *binding.Invalid if asking again may help.
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
	// The order must be the same each time: if a handler that runs again asks in other words,
	// the answer is not found.
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
