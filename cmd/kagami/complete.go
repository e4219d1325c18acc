package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

func (a *cli) completeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "complete SERVER NAME argument=text [key=value ...]", Short: "Complete an argument of a prompt or template",
		Long: `Ask the server for values that complete a text. The text is the start of an argument of a
prompt, or of a variable of a resource template. NAME is the prompt, or the URI template.
The pairs after the first one are arguments that already have their values.`,
		Example: `  kagami complete ./examples/weather plan_trip city=Ky
  kagami complete ./examples/weather 'weather://{city}' city=Ky`,
		RunE: func(cmd *cobra.Command, args []string) error {
			server, rest, err := a.arguments(cmd, args, "NAME", "argument=text", "...")
			if err != nil {
				return err
			}
			argument, value, ok := strings.Cut(rest[1], "=")
			if !ok || argument == "" {
				return usagef("want argument=text, got %q", rest[1])
			}
			known, err := promptArguments(rest[2:], a.in)
			if err != nil {
				return &usageError{err}
			}
			params := &protocol.CompleteParams{Prompt: rest[0], Argument: argument, Value: value, Context: known}
			if strings.Contains(rest[0], "://") {
				params.Prompt, params.Template = "", rest[0]
			}
			return a.session(cmd.Context(), server, func(ctx context.Context, c *client.Client) error {
				return a.complete(ctx, c, params)
			})
		},
	}
	a.completes(cmd, promptWords)
	return cmd
}

func (a *cli) complete(ctx context.Context, c *client.Client, params *protocol.CompleteParams) error {
	found, err := c.Complete(ctx, params)
	switch {
	case err != nil && params.Template != "":
		return orUnlisted(ctx, c, surface.Templates, "template", params.Template, err)
	case err != nil:
		return orUnlisted(ctx, c, surface.Prompts, "prompt", params.Prompt, err)
	}
	if a.json {
		return writeJSON(a.out, map[string]any{"values": append([]string{}, found.Values...), "total": found.Total, "hasMore": found.HasMore})
	}
	for _, value := range found.Values {
		_, _ = fmt.Fprintln(a.out, onOneLine(value))
	}
	if found.HasMore {
		a.say("the server has more values")
	}
	return nil
}
