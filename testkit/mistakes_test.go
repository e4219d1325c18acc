package testkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
)

type orderItem struct {
	SKU   string `json:"sku" validate:"min=3,max=12"`
	Count int    `json:"count" validate:"min=1,max=99"`
}

type orderIn struct {
	CustomerID string            `json:"customerId" validate:"uuid4"`
	Email      string            `json:"email" validate:"email"`
	Items      []orderItem       `json:"items" validate:"min=1"`
	Speed      string            `json:"speed,omitempty" validate:"oneof=slow fast" default:"slow"`
	Discount   *float64          `json:"discount,omitempty" validate:"omitempty,min=0,lt=1"`
	Gift       bool              `json:"gift,omitempty"`
	Notes      map[string]string `json:"notes,omitempty"`
	Within     time.Duration     `json:"within" validate:"min=1h"`
	Address    struct {
		Street  string `json:"street"`
		ZipCode string `json:"zip_code" validate:"len=5,numeric"`
		Country string `json:"country" validate:"oneof=DE JP US"`
	} `json:"address"`
}

func orderTool() *framework.ToolOf[orderIn, string] {
	return framework.Tool("order", func(context.Context, orderIn) (string, error) { return "ordered", nil })
}

const rawSchema = `{"type":"object","properties":{"city":{"type":"string","enum":["Oslo","Rome"]},"days":{"type":"integer","minimum":1},
	"tags":{"type":"array","items":{"type":"string"},"minItems":1}},"required":["city","days"],"additionalProperties":false}`

func rawTool() *framework.ToolOf[json.RawMessage, string] {
	return framework.Tool("raw", func(context.Context, json.RawMessage) (string, error) { return "", nil }, framework.InputSchema(rawSchema))
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	testkit.Mistakes(t, orderTool())
	testkit.Mistakes(t, rawTool())
	testkit.Mistakes(t, framework.Tool("none", func(context.Context, struct{}) (string, error) { return "", nil }))
	testkit.Mistakes(t, newHandles().wait)
}

// A good call is found for what only a pattern, or an example, tells.
func TestMistakesOfPatterns(t *testing.T) {
	t.Parallel()
	testkit.Mistakes(t, framework.Tool("coded", func(context.Context, struct {
		Code  string `json:"code" jsonschema:"pattern=^[A-Z]{3}-[0-9]{4}$"`
		Slug  string `json:"slug" jsonschema:"pattern=^[a-z0-9]+(?:-[a-z0-9]+)*$,minLength=8,maxLength=12"`
		Paint string `json:"paint" jsonschema:"pattern=^(#|0x)[^g-z]{6}$"`
		Any   string `json:"any" jsonschema:"pattern=x"`
	},
	) (string, error) {
		return "", nil
	}))
	testkit.Mistakes(t, framework.Tool("shown", func(context.Context, shownIn) (string, error) { return "", nil }))
}

// shownIn has a rule that no schema tells.
type shownIn struct {
	N int `json:"n" jsonschema:"example=42"`
}

func (s shownIn) Validate() error {
	if s.N != 42 {
		return errors.New("no")
	}
	return nil
}

// Every kind of mistake is tried on a tool that has everything.
func TestMistakesAreMade(t *testing.T) {
	t.Parallel()
	made, err := testkit.MistakesOf(orderTool())
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(made, "\n")
	for _, want := range []string{
		"missing /email", "misspelled /email", "in another case /customerId", "dotted /address/street", "null for /items", "number as text /discount",
		"words for number", "fraction for /items/0/count", "too large /items/0/count", "missing /items/0/sku", "bool as text /gift", "list as text /items", "object as text /address", "list for object /address",
		"case of /speed", "no such value for /address/country", "too small /discount", "not of the format /email", "all in input", "no arguments",
		"arguments as text", "one argument too many", "list for text /email",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no mistake %q in\n%s", want, all)
		}
	}
	if len(made) < 60 {
		t.Errorf("%d mistakes only", len(made))
	}
}

// What a tool may do wrong with a mistake.
func TestMistakesFindsFaults(t *testing.T) {
	t.Parallel()
	refuse := func(text string, data any) func(json.RawMessage) error {
		return func(json.RawMessage) error {
			return &protocol.Fault{Kind: protocol.FaultInvalidArguments, Message: text, Data: map[string]any{"issues": data}}
		}
	}
	type issues = []map[string]string
	tests := []struct {
		name         string
		check, legal func(json.RawMessage) error
		want         string
	}{
		{"good", refuse("t: 1 problem.", issues{{"path": "/a/b", "want": "text"}}), nil, ""},
		{"accepted", pass, refuse("no", nil), "accepted, though the schema refuses it: no"},
		{"allowed", pass, pass, ""},
		{"no path", func(json.RawMessage) error { return errors.New("no") }, nil, "names no path"},
		{"another path", refuse("t: 1 problem.", issues{{"path": "/b", "want": "text"}}), nil, `does not name "/a"`},
		{"no fix", refuse("t: 1 problem.", issues{{"path": "/a", "rule": "x"}}), nil, "does not say what is wanted"},
		{"a wrong fix", refuse("t: 1 problem.\nTry: {}", issues{{"path": "/a", "want": "text"}}), nil, "the corrected call does not pass"},
	}
	for _, tt := range tests {
		got := testkit.Complaint(tt.check, tt.legal, "/a")
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	_, err := testkit.MistakesOf(framework.Tool("odd", func(context.Context, oddIn) (string, error) { return "", nil }))
	if err == nil || !strings.Contains(err.Error(), "no call that odd accepts") {
		t.Errorf("a tool that refuses everything: %v", err)
	}
}

func pass(json.RawMessage) error { return nil }

type oddIn struct {
	N int `json:"n"`
}

func (oddIn) Validate() error { return errors.New("never") }
