package framework_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

// shown is the map that a handler got, as JSON.
func shown[M ~map[string]string](args M) string {
	text, _ := json.Marshal(args)
	return string(text)
}

// named is a map of the user's.
type named map[string]string

// TestPromptKnownAtRunTime: a prompt whose arguments are data behaves as one whose arguments
// are a struct.
func TestPromptKnownAtRunTime(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(
		framework.Prompt("brief", func(_ context.Context, args map[string]string) (framework.Messages, error) {
			defer clear(args) // which is the handler's
			return framework.Messages{framework.User(shown(args))}, nil
		}, framework.Arguments(
			protocol.PromptArgument{Name: "team", Title: "Team", Description: `whose, such as "A, B"`, Required: true},
			protocol.PromptArgument{Name: "päs of notes"},
		), framework.Complete("team", func(context.Context, string, map[string]string) ([]string, error) { return []string{"red"}, nil })),
		framework.Prompt("bare", func(_ context.Context, args named) (framework.Messages, error) {
			return framework.Messages{framework.User(shown(args))}, nil
		}, framework.Arguments()),
	))
	allRevisions(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		list := p.call("prompts/list", "")
		for path, want := range map[string]any{
			"prompts.1.arguments":        nil,
			"prompts.0.arguments.0.name": "team", "prompts.0.arguments.0.description": `whose, such as "A, B"`,
			"prompts.0.arguments.0.required": true, "prompts.0.arguments.1.name": "päs of notes",
		} {
			if got := list.field(path); got != want {
				t.Errorf("%s = %v, want %v", path, got, want)
			}
		}
		get := func(name, args string) reply {
			return p.call("prompts/get", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args))
		}
		for args, want := range map[string]string{
			`{"team":"red","päs of notes":"7"}`: `{"päs of notes":"7","team":"red"}`,
			`{"team":""}`:                       `{"team":""}`,
		} {
			if got := get("brief", args).field("messages.0.content.text"); got != want {
				t.Errorf("%s: %v", args, got)
			}
		}
		if got := get("bare", `{}`).field("messages.0.content.text"); got != `{}` {
			t.Errorf("no arguments: %v", got)
		}
		get("brief", `{"päs of notes":"7","tema":"x"}`).code(protocol.CodeInvalidParams).mentions("/team", "/tema", `"team"`, "2 problems")
		get("bare", `{"x":"y"}`).code(protocol.CodeInvalidParams).mentions("/x")
		const ref = `{"type":"ref/prompt","name":"brief"}`
		if got := completions(p, ref, "team", "r", "").field("completion.values.0"); rev != protocol.Rev20241105 && got != "red" {
			t.Errorf("completion: %v", got)
		}
	})
}

// TestTemplateKnownAtRunTime: so does a template.
func TestTemplateKnownAtRunTime(t *testing.T) {
	t.Parallel()
	notes := framework.ResourceTemplate("notes://{dir}/{name}{?at}", func(_ context.Context, vars map[string]string) (string, error) {
		return shown(vars), nil
	})
	s := build(t, quiet().Add(notes))
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		for uri, want := range map[string]string{
			"notes://a/b%20c": `{"dir":"a","name":"b c"}`,
			notes.URI(map[string]string{"dir": "a", "name": "b", "at": "1"}): `{"at":"1","dir":"a","name":"b"}`,
		} {
			if got := p.call("resources/read", fmt.Sprintf(`{"uri":%q}`, uri)).field("contents.0.text"); got != want {
				t.Errorf("%s: %v, want %s", uri, got, want)
			}
		}
	})
}
