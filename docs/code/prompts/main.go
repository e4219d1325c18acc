// Command prompts is the code of docs/prompts.md.
package main

import (
	"context"
	"strings"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
	"github.com/kagami-mcp/kagami/protocol"
)

// ReviewArgs are the arguments of the prompt. MCP sends them as strings; Kagami parses and
// validates them.
type ReviewArgs struct {
	Code     string `json:"code" doc:"the code to review"`
	Language string `json:"language" doc:"its language" default:"go" validate:"oneof=go rust typescript"`
	Depth    int    `json:"depth,omitempty" doc:"1 is a glance, 3 a full review" default:"2" validate:"min=1,max=3"`
}

// Review returns the messages that start a conversation.
func Review(_ context.Context, args ReviewArgs) (framework.Messages, error) {
	return framework.Messages{
		framework.Userf("Review this %s code at depth %d:", args.Language, args.Depth),
		framework.User(args.Code),
		framework.Assistant("I will look for bugs first, then for clarity."),
	}, nil
}

// Stored is a prompt that is stored in a file or a database.
type Stored struct {
	Name, About, Text string // ${name} in Text is replaced by an argument
	Arguments         []protocol.PromptArgument
}

// FromStore returns a prompt whose arguments are known only at run time.
func FromStore(s Stored) framework.Component {
	fill := func(_ context.Context, args map[string]string) (framework.Messages, error) {
		var pairs []string // not os.Expand, because it also replaces $5
		for _, argument := range s.Arguments {
			pairs = append(pairs, "${"+argument.Name+"}", args[argument.Name])
		}
		return framework.Messages{framework.User(strings.NewReplacer(pairs...).Replace(s.Text))}, nil
	}
	return framework.Prompt(s.Name, fill, framework.Describe(s.About), framework.Arguments(s.Arguments...))
}

// NewApp returns the app.
func NewApp() *framework.App {
	return framework.New("prompts", "1.0.0").Add(
		framework.Prompt("review", Review, framework.Describe("Review a piece of code.")),
		FromStore(Stored{
			Name: "standup", About: "Write my report for the standup.", Text: "Write what ${who} did since ${since}. A prize of $50 goes to the shortest report.",
			Arguments: []protocol.PromptArgument{{Name: "who", Required: true}, {Name: "since"}},
		}),
	)
}

func main() { serve.Main(NewApp()) }
