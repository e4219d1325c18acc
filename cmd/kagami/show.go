package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// listCommand returns the command tools, resources or prompts.
func (a *cli) listCommand(kind string) *cobra.Command {
	parts := map[string]surface.Part{
		"tools": surface.Tools, "resources": surface.Resources | surface.Templates, "prompts": surface.Prompts,
	}[kind]
	short := "List the " + kind + " of a server"
	if kind == "resources" {
		short += ", templates included"
	}
	var strict bool
	cmd := &cobra.Command{
		Use: kind + " SERVER", Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			server, _, err := a.arguments(cmd, args)
			if err != nil {
				return err
			}
			return a.checked(cmd.Context(), server, strict, func() error { return a.showServer(cmd.Context(), server, parts) })
		},
	}
	strictFlag(cmd, &strict)
	a.completes(cmd, nil)
	return cmd
}

func (a *cli) showServer(ctx context.Context, server []string, parts surface.Part) error {
	return a.look(ctx, server, func(ctx context.Context, c *client.Client) error {
		if a.json {
			all, err := surface.ReadSent(ctx, c, parts)
			if err != nil {
				return err
			}
			return a.printSurface(all)
		}
		all, err := surface.Read(ctx, c, parts)
		if err != nil {
			return err
		}
		return a.printSurface(all)
	})
}

func (a *cli) readCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "read SERVER URI", Short: "Read a resource", Long: "Read a resource and print its contents.",
		Example: `  kagami read ./examples/weather weather://Kyoto
  kagami read ./examples/everything test://static-binary --output pixel.png`,
		RunE: func(cmd *cobra.Command, args []string) error {
			server, rest, err := a.arguments(cmd, args, "URI")
			if err != nil {
				return err
			}
			if a.json && output != "" {
				return errOutputJSON
			}
			return a.session(cmd.Context(), server, func(ctx context.Context, c *client.Client) error {
				return a.read(ctx, c, rest[0], output)
			})
		},
	}
	a.questionFlags(cmd)
	a.completes(cmd, uriWords)
	cmd.Flags().StringVarP(&output, "output", "o", "", "write the contents to this file without changes")
	return cmd
}

func (a *cli) read(ctx context.Context, c *client.Client, uri, output string) error {
	if a.json {
		return a.raw(ctx, c, protocol.MethodReadResource, map[string]string{"uri": uri})
	}
	result, err := c.ReadResource(ctx, uri)
	if err != nil {
		return err
	}
	if output != "" {
		return save(output, result.Contents)
	}
	for _, contents := range result.Contents {
		printContents(a.out, &contents, len(result.Contents) > 1)
	}
	return nil
}

func (a *cli) promptCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "prompt SERVER NAME [key=value ...]", Short: "Get a prompt", Long: "Get a prompt and print its messages.",
		Example: `  kagami prompt ./examples/weather plan_trip city=Kyoto days=3`,
		RunE: func(cmd *cobra.Command, args []string) error {
			server, rest, err := a.arguments(cmd, args, "NAME", "...")
			if err != nil {
				return err
			}
			values, err := promptArguments(rest[1:], a.in)
			if err != nil {
				return &usageError{err}
			}
			return a.session(cmd.Context(), server, func(ctx context.Context, c *client.Client) error {
				return a.prompt(ctx, c, rest[0], values)
			})
		},
	}
	a.questionFlags(cmd)
	a.completes(cmd, promptWords)
	return cmd
}

func (a *cli) prompt(ctx context.Context, c *client.Client, name string, values map[string]string) error {
	if a.json {
		err := a.raw(ctx, c, protocol.MethodGetPrompt, struct {
			Name      string            `json:"name"`
			Arguments map[string]string `json:"arguments,omitempty"`
		}{name, values})
		if err != nil {
			err = a.unlistedPrompt(ctx, c, name, err)
		}
		return err
	}
	result, err := c.GetPrompt(ctx, name, values)
	if err != nil {
		return a.unlistedPrompt(ctx, c, name, err)
	}
	printMessages(a.out, result)
	return nil
}

// unlistedPrompt adds similar names to err if the server does not list the prompt.
func (a *cli) unlistedPrompt(ctx context.Context, c *client.Client, name string, err error) error {
	all, listErr := surface.Read(ctx, c, surface.Prompts)
	if listErr != nil {
		return err
	}
	names := make([]string, len(all.Prompts))
	for i, p := range all.Prompts {
		names[i] = p.Name
	}
	return withSimilar(err, "prompt", name, names)
}

// unlistedTemplate adds similar templates to err if the server does not list the template.
func (a *cli) unlistedTemplate(ctx context.Context, c *client.Client, template string, err error) error {
	all, listErr := surface.Read(ctx, c, surface.Templates)
	if listErr != nil {
		return err
	}
	names := make([]string, len(all.Templates))
	for i, t := range all.Templates {
		names[i] = t.URITemplate
	}
	return withSimilar(err, "template", template, names)
}

// withSimilar adds similar names to err if name is not among the names that the server lists.
func withSimilar(err error, what, name string, names []string) error {
	if slices.Contains(names, name) {
		return err
	}
	return errors.Join(err, &unlistedError{unlisted(err, what, name, names)})
}

// raw sends a request and prints the raw result.
func (a *cli) raw(ctx context.Context, c *client.Client, method string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	answer, err := c.Request(ctx, method, raw, client.InRounds())
	if err != nil {
		return err
	}
	return printJSON(a.out, answer)
}

func (a *cli) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version and the supported revisions",
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				revisions := make([]string, 0, len(protocol.Revisions()))
				for _, r := range protocol.Revisions() {
					revisions = append(revisions, r.String())
				}
				return writeJSON(a.out, map[string]any{"version": version(), "revisions": revisions})
			}
			_, err := fmt.Fprintf(a.out, "kagami %s\nMCP %s\n", version(), join(protocol.Revisions()))
			return err
		},
	}
}

// version returns the version of the module that this program was built from, or "devel".
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || strings.HasPrefix(info.Main.Version, "(") || info.Main.Version == "" {
		return "devel"
	}
	return info.Main.Version
}
