package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kagami-mcp/kagami/cmd/kagami/internal/conform"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

func (a *cli) conformanceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "conformance SERVER", Short: "Check a server against the specification",
		Long: `Check a server against rules of the specification: unknown methods and names, lists and
their entries, pages, caching. Every revision that the server supports is checked, or only
the one of --revision. The command calls no tool and changes nothing. -v also shows the
rules that the server follows.

The exit code is 1 if the server breaks a MUST. A SHOULD that it does not follow is only
shown.

This command does not replace the official suite, @modelcontextprotocol/conformance. That
suite needs special tools in the server.`,
		Example: `  kagami conformance ./examples/everything
  kagami conformance https://mcp.example.com/mcp --json`,
		RunE: a.onServer(a.conformance),
	}
	a.completes(cmd, nil)
	return cmd
}

// conformance checks the server at one revision after the other, each in a new session.
func (a *cli) conformance(ctx context.Context, server []string) error {
	if _, err := a.onlyRevision(); err != nil {
		return err
	}
	if !remote(server) { // build a package only once
		program, cleanup, err := a.program(ctx, server)
		if err != nil {
			return &unreachedError{err}
		}
		defer cleanup()
		server = program.Args
	}
	all, refusal := []conform.Finding{}, error(nil)
	for _, rev := range protocol.Revisions() {
		if a.revision != "" && a.revision != rev.String() {
			continue
		}
		body := func(ctx context.Context, c *client.Client) error {
			found, err := conform.Check(ctx, c)
			all = append(all, found...)
			return err
		}
		err := a.session(ctx, server, body, client.Revisions(rev))
		if wraps[*unreachedError](err) && a.revision == "" {
			refusal = err // a server may refuse some revisions
			continue
		}
		if err != nil {
			return err
		}
	}
	if len(all) == 0 && refusal != nil {
		return refusal
	}
	return a.showConformance(all)
}

// showConformance prints the findings. It returns an error if the server breaks a rule.
func (a *cli) showConformance(all []conform.Finding) error {
	var text strings.Builder
	broken := 0
	for i, f := range all {
		if f.Verdict == conform.Broken {
			broken++
		}
		if i == 0 || f.Revision != all[i-1].Revision {
			text.WriteString(f.Revision + ": " + counted(all, f.Revision) + "\n")
		}
		if a.verbose || f.Why != "" {
			fmt.Fprintf(&text, "  %-7s  %s\n", f.Verdict, f.Rule)
		}
		if f.Why != "" {
			fmt.Fprintf(&text, "           %s (%s)\n", onOneLine(f.Why), f.Source)
		}
	}
	var err error
	if a.json {
		err = writeJSON(a.out, map[string]any{"findings": all})
	} else {
		_, err = io.WriteString(a.out, text.String())
	}
	if err == nil && broken > 0 {
		err = fmt.Errorf("broken rules: %d", broken)
	}
	return err
}

// counted returns how many findings of a revision have each verdict.
func counted(all []conform.Finding, revision string) string {
	counts := map[conform.Verdict]int{}
	for _, f := range all {
		if f.Revision == revision {
			counts[f.Verdict]++
		}
	}
	texts := []string{fmt.Sprintf("%d kept", counts[conform.Kept])}
	for _, v := range []conform.Verdict{conform.Skipped, conform.Ignored, conform.Broken} {
		if counts[v] > 0 {
			texts = append(texts, fmt.Sprintf("%d %s", counts[v], v))
		}
	}
	return strings.Join(texts, ", ")
}
