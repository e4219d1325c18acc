package framework_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport"
)

// stateCall is a call that asks, as it is sent again with the state that it got.
type stateCall struct {
	app, issuer, subject, method, name, arguments string
}

func (c stateCall) params(more string) string {
	what := `"name":"` + c.name + `","arguments":` + c.arguments
	if c.method == "resources/read" {
		what = `"uri":"` + c.name + `"`
	}
	return `{"jsonrpc":"2.0","id":1,"method":"` + c.method + `","params":{` + what + more +
		`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}}}`
}

// TestStateIsBound: a requestState that one call got is refused with any other, whichever part of
// the call differs, though all apps share a secret.
func TestStateIsBound(t *testing.T) {
	t.Parallel()
	send := func(c stateCall, more string) string {
		t.Helper()
		ctx := t.Context()
		if c.subject != "" {
			ctx = transport.WithPrincipal(ctx, &transport.Principal{Issuer: c.issuer, Subject: c.subject})
		}
		to, err := client.Connect(ctx, client.InMemory(asking(t, c.app)))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = to.Close() }()
		answer, err := to.Exchange(ctx, []byte(c.params(more)))
		if err != nil {
			t.Fatal(err)
		}
		return string(answer)
	}
	own := stateCall{"shop", "https://a.example", "alice", "tools/call", "t", `{"a":"1"}`}
	var asked struct {
		Result struct {
			RequestState  string                     `json:"requestState"`
			InputRequests map[string]json.RawMessage `json:"inputRequests"`
		} `json:"result"`
	}
	first := send(own, "")
	if err := json.Unmarshal([]byte(first), &asked); err != nil || asked.Result.RequestState == "" {
		t.Fatalf("%s %v", first, err)
	}
	keys := slices.Collect(maps.Keys(asked.Result.InputRequests))
	if len(keys) != 1 {
		t.Fatal(first)
	}
	again := fmt.Sprintf(`,"requestState":%q,"inputResponses":{%q:{"action":"accept","content":{"value":"yes"}}}`, asked.Result.RequestState, keys[0])
	for name, change := range map[string]func(*stateCall){
		"app":       func(c *stateCall) { c.app = "other" },
		"issuer":    func(c *stateCall) { c.issuer = "https://b.example" },
		"no issuer": func(c *stateCall) { c.issuer = "" },
		"subject":   func(c *stateCall) { c.subject = "bob" },
		"nobody":    func(c *stateCall) { c.subject, c.issuer = "", "" },
		"moved":     func(c *stateCall) { c.issuer, c.subject = "https://a.exampl", "ealice" },
		"method":    func(c *stateCall) { c.method = "prompts/get" },
		"name":      func(c *stateCall) { c.name = "u" },
		"arguments": func(c *stateCall) { c.arguments = `{"a":"2"}` },
	} {
		other := own
		change(&other)
		if answer := send(other, again); !strings.Contains(answer, "requestState is not valid") {
			t.Errorf("another %s: the state of %+v is taken: %s", name, own, answer)
		}
	}
	for name, same := range map[string]string{"the call": `{"a":"1"}`, "the call in other words": ` { "a" : "1" } `} {
		other := own
		other.arguments = same
		if answer := send(other, again); !strings.Contains(answer, "yes") {
			t.Errorf("%s: %s", name, answer)
		}
	}
}

// asking builds an app in which everything asks.
func asking(t *testing.T, name string) *framework.Server {
	t.Helper()
	ask := func(ctx context.Context) (string, error) { return framework.Elicit[string](ctx, "Sure?") }
	type in struct {
		A string `json:"a"`
	}
	tool := func(ctx context.Context, _ in) (string, error) { return ask(ctx) }
	app := framework.New(name, "1", framework.WithStateSecrets([]byte("a secret that all of them share")))
	app.Add(framework.Tool("t", tool), framework.Tool("u", tool),
		framework.Prompt("t", func(ctx context.Context, _ in) (framework.Messages, error) {
			text, err := ask(ctx)
			return framework.Messages{framework.User(text)}, err
		}))
	server, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	return server
}
