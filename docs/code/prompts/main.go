// Command prompts is the code of docs/prompts.md.
package main

import (
	"context"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
)

// ReviewArgs travel as strings; Kagami parses and checks them.
type ReviewArgs struct {
	Code     string `json:"code" doc:"the code to review"`
	Language string `json:"language" doc:"its language" default:"go" validate:"oneof=go rust typescript"`
	Depth    int    `json:"depth,omitempty" doc:"1 is a glance, 3 a full review" default:"2" validate:"min=1,max=3"`
}

// Review makes the messages that start a conversation.
func Review(_ context.Context, args ReviewArgs) (framework.Messages, error) {
	return framework.Messages{
		framework.Userf("Review this %s code at depth %d:", args.Language, args.Depth),
		framework.User(args.Code),
		framework.Assistant("I will look for bugs first, then for clarity."),
	}, nil
}

// NewApp registers the prompt.
func NewApp() *framework.App {
	return framework.New("prompts", "1.0.0").Add(
		framework.Prompt("review", Review, framework.Describe("Review a piece of code.")),
	)
}

func main() { serve.Main(NewApp()) }
