package framework_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
)

type letter struct {
	To string `json:"to" validate:"shouted"`
}

func shouted(s string) bool { return s != "" && s == strings.ToUpper(s) }

func TestValidation(t *testing.T) {
	t.Parallel()
	option := framework.Validation("shouted", shouted, `{"not":{"pattern":"[a-z]"}}`, "text in capitals such as AMSTERDAM")
	tool := framework.Tool("send", func(_ context.Context, in letter) (string, error) { return in.To, nil })
	s := build(t, quiet(option).Add(tool))
	allRevisions(t, func(t *testing.T, rev protocol.Revision) {
		p := dial(t, s, rev)
		if r := p.tool("send", `{"to":"AMSTERDAM"}`); r.text() != "AMSTERDAM" {
			t.Errorf("text = %s", r.text())
		}
		if not := p.call("tools/list", "").field("tools.0.inputSchema.properties.to.not.pattern"); not != "[a-z]" {
			t.Errorf("not = %v", not)
		}
	})
	err := tool.Check([]byte(`{"to":"Amsterdam"}`))
	if want := `/to: got "Amsterdam" (text). Want text in capitals such as AMSTERDAM.`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want %s", err, want)
	}
}

// The URIs of a template whose variables have a tag of the app's own.
func TestValidationOfTemplate(t *testing.T) {
	t.Parallel()
	type box struct {
		To string `uri:"to" validate:"shouted"`
	}
	boxes := framework.ResourceTemplate("box://{to}", func(_ context.Context, b box) (string, error) { return b.To, nil })
	build(t, quiet(framework.Validation("shouted", shouted, "", "capitals")).Add(boxes))
	if got := boxes.URI(box{"OSLO"}); got != "box://OSLO" {
		t.Errorf("URI = %q", got)
	}
}

// Tags of the app's own are known wherever a type is compiled while the app runs: for the
// form of a question, and for tools that are offered to a model without being registered.
func TestValidationAtRunTime(t *testing.T) {
	t.Parallel()
	const want = "Want text in capitals."
	send := framework.Tool("send", func(_ context.Context, in letter) (string, error) { return in.To, nil })
	var told []string
	m := &ownModel{say: func(n int32, req *framework.ModelRequest) (framework.Generation, error) {
		if n == 1 {
			return framework.Generation{Content: framework.Content{
				protocol.ToolUse{ID: "a", Name: "send", Input: json.RawMessage(`{"to":"Oslo"}`)},
				protocol.ToolUse{ID: "b", Name: "send", Input: json.RawMessage(`{"to":"OSLO"}`)},
			}}, nil
		}
		for _, b := range req.Messages[len(req.Messages)-1].Blocks() {
			told = append(told, b.(protocol.ToolResult).Content[0].(protocol.Text).Text)
		}
		return framework.Generation{Content: framework.Content{protocol.Text{Text: "done"}}}, nil
	}}
	s := build(t, quiet(framework.WithModel(m), framework.Validation("shouted", shouted, "", "text in capitals")).Add(
		framework.Tool("form", func(ctx context.Context, _ struct{}) (string, error) {
			v, err := framework.Elicit[letter](ctx, "To whom?")
			return v.To, err
		}),
		generating[string](framework.PreferApp(), framework.WithTools(send)),
	))
	answers := []string{accept(`{"to":"Oslo"}`), accept(`{"to":"OSLO"}`)}
	p := dial(t, s, protocol.Rev20251125, withCaps(canElicit), answering(func(string, json.RawMessage) string {
		next := answers[0]
		answers = answers[1:]
		return next
	}))
	if got, asked := p.tool("form", `{}`).text(), p.messages(); got != "OSLO" || !strings.Contains(asked, "To must be text in capitals, not") {
		t.Errorf("form: got %q, asked %q", got, asked)
	}
	if got := p.tool("t", `{}`).text(); got != "done" || len(told) != 2 || !strings.Contains(told[0], want) || told[1] != "OSLO" {
		t.Errorf("tool: got %q, told %q", got, told)
	}
}

func TestValidationFaults(t *testing.T) {
	t.Parallel()
	fine := framework.Validation("shouted", shouted, "", "capitals")
	cases := map[string]struct {
		opts []framework.AppOption
		want string
	}{
		"built in":     {[]framework.AppOption{fine, framework.Validation("email", shouted, "", "capitals")}, `the tag "email" exists already`},
		"nil":          {[]framework.AppOption{fine, framework.Validation[string]("loud", nil, "", "capitals")}, `the function of "loud" is nil`},
		"schema":       {[]framework.AppOption{fine, framework.Validation("loud", shouted, "{", "capitals")}, `the schema of "loud"`},
		"twice":        {[]framework.AppOption{fine, fine}, `the tag "shouted" is given twice`},
		"another type": {[]framework.AppOption{framework.Validation("shouted", func(int) bool { return true }, "", "capitals")}, `is for type int, not string`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := framework.Tool("send", func(context.Context, letter) (string, error) { return "", nil })
			report := faultsOf(t, quiet(tc.opts...).Add(tool))
			if !strings.Contains(report.Error(), tc.want) {
				t.Errorf("%s\nwant %s", report, tc.want)
			}
		})
	}
}
