package framework_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

type reviewIn struct {
	Code  string `json:"code" doc:"what to review" title:"Code"`
	Lang  string `json:"lang,omitempty" validate:"oneof=go rust python" default:"go"`
	Depth int    `json:"depth,omitempty" doc:"how deep" validate:"min=1,max=3" default:"1"`
	Terse bool   `json:"terse,omitempty"`
}

func review(_ context.Context, in reviewIn) (framework.Messages, error) {
	return framework.Messages{
		framework.Userf("Review this %s (%d, %v):", in.Lang, in.Depth, in.Terse),
		framework.User("100% " + in.Code),
		framework.Assistant("Sure."),
		framework.UserBlock(framework.Image{Data: []byte("x"), MIME: "image/png"}),
		{Content: framework.Text("no role")},
	}, nil
}

func TestPrompts(t *testing.T) {
	t.Parallel()
	s := build(t, quiet().Add(framework.Prompt("review", review, framework.Describe("Reviews"), framework.Title("Review"))))
	allRevisions(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		list := p.call("prompts/list", "")
		for path, want := range map[string]any{
			"prompts.0.name": "review", "prompts.0.description": "Reviews", "prompts.0.arguments.0.name": "code",
			"prompts.0.arguments.0.description": "what to review", "prompts.0.arguments.0.required": true,
			"prompts.0.arguments.1.description": `One of "go", "rust", "python". Default "go".`,
			"prompts.0.arguments.2.description": "how deep. A whole number from 1 to 3. Default 1.",
			"prompts.0.arguments.3.description": "True or false.",
		} {
			if got := list.field(path); got != want {
				t.Errorf("%s = %v, want %v", path, got, want)
			}
		}
		if list.field("prompts.0.arguments.1.required") == true {
			t.Error("an argument with a default is required")
		}
		r := p.call("prompts/get", `{"name":"review","arguments":{"code":"x","terse":"true","depth":"2"}}`)
		for path, want := range map[string]any{
			"description": "Reviews", "messages.0.content.text": "Review this go (2, true):", "messages.0.role": "user",
			"messages.1.content.text": "100% x", "messages.2.role": "assistant", "messages.3.content.type": "image", "messages.4.role": "user",
		} {
			if got := r.field(path); got != want {
				t.Errorf("%s = %v, want %v", path, got, want)
			}
		}
	})
}

func TestPromptErrors(t *testing.T) {
	t.Parallel()
	fail := func(name string, err error) framework.Component {
		return framework.Prompt(name, func(context.Context, struct{}) (framework.Messages, error) { return nil, err })
	}
	s := build(t, quiet().Add(
		framework.Prompt("review", review), fail("plain", errors.New("secret")), fail("user", framework.UserErrorf("later")),
		fail("gone", framework.NotFoundf("no text")), fail("argument", framework.InvalidArgumentf("x", "is wrong")), fail("empty", nil),
		framework.Prompt("hole", func(context.Context, struct{}) (framework.Messages, error) { return framework.Messages{{}}, nil }),
		framework.Prompt("role", func(context.Context, struct{}) (framework.Messages, error) {
			return framework.Messages{{Role: "system", Content: framework.Text("a")}}, nil
		}),
		framework.Prompt("pointer", func(context.Context, struct{}) (framework.Messages, error) {
			return framework.Messages{{Content: &protocol.Text{Text: "a"}}}, nil
		}),
		framework.Prompt("pair", func(context.Context, struct{}) (framework.Messages, error) {
			return framework.Messages{{Content: framework.Text("a"), More: framework.Content{framework.Text("b")}}}, nil
		}),
	))
	allRevisions(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		get := func(name, args string) reply {
			return p.call("prompts/get", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args))
		}
		get("review", `{}`).code(protocol.CodeInvalidParams).mentions("/code")
		get("review", `{"code":"x","lang":"perl","other":"y"}`).code(protocol.CodeInvalidParams).mentions("/lang", "/other", "2 problems")
		get("review", `{"code":"x","depth":"ten"}`).code(protocol.CodeInvalidParams).mentions("/depth")
		get("revew", `{}`).code(protocol.CodeInvalidParams).mentions(`unknown prompt "revew"`, `"review"`)
		get("plain", `{}`).code(protocol.CodeInternal).omits("secret").mentions("The prompt failed")
		get("user", `{}`).code(protocol.CodeInternal).mentions("later")
		get("gone", `{}`).code(protocol.CodeInternal).mentions("no text")
		get("argument", `{}`).code(protocol.CodeInvalidParams).mentions("/x: is wrong.")
		get("hole", `{}`).code(protocol.CodeInternal).mentions("The prompt failed")
		get("role", `{}`).code(protocol.CodeInternal).mentions("The prompt failed")
		get("pointer", `{}`).code(protocol.CodeInternal).mentions("The prompt failed")
		get("pair", `{}`).code(protocol.CodeInternal).mentions("The prompt failed")
		if got := string(get("empty", `{}`).ok().Result); !json.Valid([]byte(got)) || len(get("empty", `{}`).names("messages", "role")) != 0 {
			t.Errorf("no messages: %s", got)
		}
	})
}

// TestCompletionsHaveTheTimeout: the timeout of a prompt ends its completions, too.
func TestCompletionsHaveTheTimeout(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		type in struct {
			Code string `json:"code"`
		}
		s := build(t, quiet().Add(framework.Prompt("review", func(context.Context, in) (framework.Messages, error) { return nil, nil }, framework.Timeout(3*time.Second),
			framework.Complete("code", func(ctx context.Context, _ string, _ map[string]string) ([]string, error) {
				patience, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				<-patience.Done()
				return []string{"late"}, ctx.Err()
			}))))
		completions(dial(t, s, protocol.Rev20260728), `{"type":"ref/prompt","name":"review"}`, "code", "", "").mentions("The prompt took longer than 3s")
	})
}

func completions(p *peer, ref, argument, value, context string) reply {
	return p.call("completion/complete", fmt.Sprintf(`{"ref":%s,"argument":{"name":%q,"value":%q}%s}`, ref, argument, value, context))
}

// TestCompletionSteps: completions pass the steps of their component like other calls.
func TestCompletionSteps(t *testing.T) {
	t.Parallel()
	var met []string
	step := func(name string) framework.Middleware {
		return framework.Middleware{Name: name, Wrap: func(next framework.Handler) framework.Handler {
			return func(ctx context.Context, call *framework.Call) (*framework.Result, error) {
				met = append(met, fmt.Sprintf("%s %s %s %s %s", name, call.Method, call.Component.Kind, call.Name, call.Arguments))
				switch {
				case strings.Contains(string(call.Arguments), "wrong"):
					return &framework.Result{Body: &protocol.CallToolResult{}}, nil
				case strings.Contains(string(call.Arguments), "nothing"):
					return &framework.Result{}, nil
				case strings.Contains(string(call.Arguments), "lost"):
					return next(context.Background(), call)
				case strings.Contains(string(call.Arguments), "changed"):
					call.Arguments = json.RawMessage(`{"code":"c","lang":"go"}`)
				}
				return next(ctx, call)
			}
		}}
	}
	never := framework.OnPrompt("never", func(context.Context, *framework.Call, framework.Next[*protocol.GetPromptResult]) (*protocol.GetPromptResult, error) {
		t.Error("a completion is no prompts/get")
		return nil, nil
	})
	s := build(t, quiet().Use(step("app"), never).Add(
		framework.Prompt("review", review, framework.With(step("own")), framework.Complete("code", func(_ context.Context, prefix string, args map[string]string) ([]string, error) {
			return []string{prefix + "-" + args["lang"]}, nil
		}))))
	p := dial(t, s, protocol.Rev20260728)
	const ref = `{"type":"ref/prompt","name":"review"}`
	ask := func(value string) reply {
		return completions(p, ref, "code", value, `,"context":{"arguments":{"lang":"rust"}}`)
	}
	if got := fmt.Sprint(ask("x").field("completion.values")); got != "[x-rust]" {
		t.Errorf("completes to %s", got)
	}
	const seen = ` completion/complete prompt review {"code":"x","lang":"rust"}`
	if !slices.Equal(met, []string{"app" + seen, "own" + seen}) {
		t.Errorf("met %q", met)
	}
	if got := fmt.Sprint(ask("changed").field("completion.values")); got != "[c-go]" {
		t.Errorf("what a step hands on completes to %s", got)
	}
	for _, value := range []string{"wrong", "nothing", "lost"} {
		ask(value).code(protocol.CodeInternal)
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	many := make([]string, 250)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	s := build(t, quiet().Add(
		framework.Prompt("review", review, framework.Complete("code", func(_ context.Context, prefix string, args map[string]string) ([]string, error) {
			switch prefix {
			case "many":
				return many, nil
			case "none":
				return nil, nil
			case "fail":
				return nil, errors.New("secret")
			case "panic":
				panic("secret")
			}
			return []string{prefix + "-" + args["lang"]}, nil
		})),
		framework.Prompt("secret", prompt, framework.Scopes("x")),
		framework.ResourceTemplate("c://{color}/{id}", func(context.Context, struct {
			Color string `uri:"color" validate:"oneof=red green Grey"`
			ID    string `uri:"id"`
		},
		) (string, error) {
			return "", nil
		}),
	))
	const ref, template = `{"type":"ref/prompt","name":"review"}`, `{"type":"ref/resource","uri":"c://{color}/{id}"}`
	bothEras(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		for _, tt := range []struct{ ref, argument, value, context, want string }{
			{ref, "lang", "", "", `{"values":["go","rust","python"],"total":3}`},
			{ref, "lang", "R", "", `{"values":["rust"],"total":1}`},
			{ref, "terse", "t", "", `{"values":["true"],"total":1}`},
			{ref, "code", "x", `,"context":{"arguments":{"lang":"go"}}`, `{"values":["x-go"],"total":1}`},
			{template, "color", "gr", "", `{"values":["green","Grey"],"total":2}`},
		} {
			got, _ := json.Marshal(completions(p, tt.ref, tt.argument, tt.value, tt.context).field("completion"))
			if !sameJSON(t, string(got), tt.want) {
				t.Errorf("%s %q = %s, want %s", tt.argument, tt.value, got, tt.want)
			}
		}
		if got := completions(p, template, "id", "", "").names("completion.values", ""); len(got) != 0 {
			t.Errorf("an open variable completes to %v", got)
		}
		full := completions(p, ref, "code", "many", "")
		if values, _ := full.field("completion.values").([]any); len(values) != 100 || full.field("completion.total") != 250.0 || full.field("completion.hasMore") != true {
			t.Errorf("250 values: %s", full.Result)
		}
		if got, ok := completions(p, ref, "code", "none", "").field("completion.values").([]any); !ok || len(got) != 0 {
			t.Error("no values are no list")
		}
		completions(p, ref, "code", "fail", "").code(protocol.CodeInternal).omits("secret")
		completions(p, ref, "code", "panic", "").code(protocol.CodeInternal).omits("secret")
		completions(p, ref, "lag", "", "").code(protocol.CodeInvalidParams).mentions(`"lag"`, `Did you mean "lang"?`)
		completions(p, `{"type":"ref/prompt","name":"x"}`, "a", "", "").code(protocol.CodeInvalidParams)
		completions(p, `{"type":"ref/prompt","name":"secret"}`, "a", "", "").code(protocol.CodeInvalidParams).mentions("unknown prompt")
		completions(p, `{"type":"ref/resource","uri":"x://y"}`, "a", "", "").code(protocol.CodeInvalidParams)
	})
}
