package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/page"
)

// labeled is a server with a question for one value, and with a union of shapes without titles.
func labeled(t *testing.T) page.Options {
	t.Helper()
	const union = `{"type":"object","required":["by"],"properties":{"by":{"oneOf":[{"$ref":"#/$defs/Card"},
		{"type":"object","properties":{"iban":{"type":"string"},"owner":{"type":"string"}},"required":["iban","owner"]},
		{"type":"string"}]}},
		"$defs":{"Card":{"type":"object","properties":{"number":{"type":"string"}},"required":["number"]}}}`
	server, err := framework.New("labeled", "1.0").Add(
		framework.Tool("guess", func(ctx context.Context, _ none) (string, error) {
			n, err := framework.Elicit[int](ctx, "Which number do I think of?")
			return fmt.Sprintf("You said %d.", n), err
		}, framework.Describe("Asks for a number."), framework.ReadOnly()),
		framework.Tool("pay", func(_ context.Context, in json.RawMessage) (string, error) { return string(in), nil },
			framework.Describe("Pays in one of three ways."), framework.ReadOnly(), framework.InputSchema(json.RawMessage(union))),
	).Build()
	if err != nil {
		t.Fatal(err)
	}
	return page.Options{Host: server, Where: "./labeled"}
}

// TestLabels: what has no title has a label that says what it is.
func TestLabels(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, labeled(t)))
	b.click(".rail a", "pay")
	for _, shape := range []string{"Card", "iban, owner", "string"} {
		b.sees("#f_by", shape)
	}
	b.click(".rail a", "guess")
	b.click("[data-call]", "Call")
	b.sees(".asks", "Which number do I think of?")
	b.sees(".asks label", "Answer")
	b.fill(".asks input", "7")
	b.click(".asks .go button", "Answer")
	b.sees("[aria-label='What the server says']", "You said 7.")
}

// TestEmptyName: a field without a name has a label.
func TestEmptyName(t *testing.T) {
	b := newTab(t)
	b.open(serve(t, taker(t, "odd", `{"type":"object","properties":{"":{"type":"string"}}}`)))
	b.click(".rail a", "odd")
	b.sees(".side label", `""`)
	b.fill("#f_", "x")
	b.click("[data-call]", "Call")
	b.sees(".calls", `{"":"x"}`)
}
