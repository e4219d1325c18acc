package framework_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
)

func TestChoicesThatDoNotFit(t *testing.T) {
	t.Parallel()
	type form struct {
		Seats int    `json:"seats"`
		Meal  string `json:"meal" validate:"oneof=fish fowl"`
	}
	few := framework.Choice{Value: "few"}
	for want, ask := range map[string]func(context.Context) error{
		`Choices is for texts, and the field "seats" is of type integer`:               asksFor[form](framework.Choices("seats", few)),
		`Choices offers "few" for "meal", which may only be one of ["fish" "fowl"]`:    asksFor[form](framework.Choices("meal", few)),
		`reading the schema of Form: the field "b" has a type that a form cannot have`: asksFor[json.RawMessage](framework.Form(`{"type":"object","properties":{"b":{"type":"array","items":{"type":"string"}}}}`)),
		`reading the schema of Form: the field "c" has a type that a form cannot have`: asksFor[json.RawMessage](framework.Form(`{"type":"object","properties":{"c":{"type":"array","items":{"type":"object"}}}}`)),
		`reading the schema of Form: the field "d" has a type that a form cannot have`: asksFor[json.RawMessage](framework.Form(`{"type":"object","properties":{"d":{"type":"array"}}}`)),
		`Choices offers "few" twice for "value"`:                                       asksFor[string](framework.Choices("value", few, few)),
		`Form describes the whole form: remove Choices and Prefill`:                    asksFor[json.RawMessage](framework.Form(`{"type":"object"}`), framework.Choices("a", few)),
		`reading the schema of Form: it is not of type object`:                         asksFor[json.RawMessage](framework.Form(`true`)),
		`reading the schema of Form: the field "a" has a type that a form cannot have`: asksFor[json.RawMessage](framework.Form(`{"type":"object","properties":{"a":{"type":"object"}}}`)),
	} {
		r, asked := elicits(t, func(ctx context.Context) (string, error) { return fmt.Sprint(ask(ctx)), nil })
		if !strings.Contains(r.text(), want) || asked != nil {
			t.Errorf("got %s after %s, want %s", r.text(), asked, want)
		}
	}
}

// An enum of the type may be narrowed.
func TestFewerChoices(t *testing.T) {
	t.Parallel()
	type form struct {
		Meal string `json:"meal" validate:"oneof=fish fowl"`
	}
	_, asked := elicits(t, func(ctx context.Context) (string, error) {
		v, err := framework.Elicit[form](ctx, "?", framework.Choices("meal", framework.Choice{Value: "fish"}))
		return v.Meal, err
	}, accept(`{"meal":"fish"}`))
	if len(asked) != 1 || !strings.Contains(string(asked[0]), `"meal":{"type":"string","enum":["fish"]}`) {
		t.Errorf("asked %s", asked)
	}
}

// A handler that runs again must ask in the same words: otherwise the answer to the repeated
// question is not found, and the user is asked once more.
func TestChoicesAreExplainedInOneOrder(t *testing.T) {
	t.Parallel()
	type form struct {
		A string `json:"a"`
		B string `json:"b"`
		C string `json:"c"`
		D string `json:"d"`
		E string `json:"e"`
	}
	var opts []framework.AskOption
	for _, field := range []string{"e", "c", "a", "d", "b"} {
		opts = append(opts, framework.Choices(field, framework.Choice{Value: "good"}))
	}
	_, asked := elicits(t, func(ctx context.Context) (string, error) { return fmt.Sprint(asksFor[form](opts...)(ctx)), nil },
		accept(`{"a":"bad","b":"bad","c":"bad","d":"bad","e":"bad"}`), `"result":{"action":"cancel"}`)
	if len(asked) != 2 {
		t.Fatalf("asked %s", asked)
	}
	var again question
	unmarshal(t, asked[1], &again)
	if order := regexp.MustCompile(`- [A-E]`).FindAllString(again.Message, -1); !slices.Equal(order, []string{"- A", "- B", "- C", "- D", "- E"}) {
		t.Errorf("the explanation has the fields in the order %s: %s", order, again.Message)
	}
}

// asksFor asks with options.
func asksFor[T any](opts ...framework.AskOption) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := framework.Elicit[T](ctx, "?", opts...)
		return err
	}
}
