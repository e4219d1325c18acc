package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// allCommand returns the command list.
func (a *cli) allCommand() *cobra.Command {
	var strict bool
	cmd := &cobra.Command{
		Use: "list SERVER", Short: "List everything that a server offers, one line each",
		RunE: func(cmd *cobra.Command, args []string) error {
			server, _, err := a.arguments(cmd, args)
			if err != nil {
				return err
			}
			return a.checked(cmd.Context(), server, strict, func() error { return a.list(cmd.Context(), server) })
		},
	}
	strictFlag(cmd, &strict)
	a.completes(cmd, nil)
	return cmd
}

func (a *cli) list(ctx context.Context, server []string) error {
	if a.json {
		return a.showServer(ctx, server, surface.All)
	}
	return a.look(ctx, server, func(ctx context.Context, c *client.Client) error {
		all, err := surface.Read(ctx, c, surface.All)
		if err != nil {
			return err
		}
		return a.print(listed(all))
	})
}

// listed returns a table of what a server offers.
func listed(all *surface.Surface) string {
	var rows [][3]string
	for _, t := range all.Tools {
		rows = append(rows, [3]string{"tool", t.Name, orElse(t.Description, t.Title)})
	}
	for _, r := range all.Resources {
		rows = append(rows, [3]string{"resource", r.URI, orElse(r.Description, r.Title)})
	}
	for _, t := range all.Templates {
		rows = append(rows, [3]string{"template", t.URITemplate, orElse(t.Description, t.Title)})
	}
	for _, p := range all.Prompts {
		rows = append(rows, [3]string{"prompt", p.Name, orElse(p.Description, p.Title)})
	}
	width := 0
	for _, row := range rows {
		width = max(width, min(len([]rune(row[1])), 40))
	}
	var out strings.Builder
	for _, row := range rows {
		_, _ = fmt.Fprintf(&out, "%-8s  %-*s  %s\n", row[0], width, onOneLine(row[1]), firstSentence(row[2]))
	}
	return out.String()
}

func orElse(text, otherwise string) string {
	if text != "" {
		return text
	}
	return otherwise
}

// firstSentence returns the first sentence of a description on one line, or its beginning if it is
// long.
func firstSentence(text string) string {
	text = onOneLine(text)
	if end := strings.Index(text, ". "); end >= 0 {
		text = text[:end+1]
	}
	if short := []rune(text); len(short) > 100 {
		return string(short[:99]) + "…"
	}
	return text
}
