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
func (a *cli) listCommand(name, short string, parts surface.Part) *cobra.Command {
	return a.showCommand(name, short, func(ctx context.Context, server []string) error { return a.showServer(ctx, server, parts) })
}

func (a *cli) showServer(ctx context.Context, server []string, parts surface.Part) error {
	return a.look(ctx, server, func(ctx context.Context, c *client.Client) error {
		read := surface.Read
		if a.json {
			read = surface.ReadSent
		}
		all, err := read(ctx, c, parts)
		if err != nil {
			return err
		}
		a.noteUndeclared(c)
		return a.printSurface(all)
	})
}

// noteUndeclared prints why nothing is listed of a server that declares nothing. Some servers forget to
// declare their tools, and clients must not use what is not declared.
func (a *cli) noteUndeclared(c *client.Client) {
	if has := c.Capabilities(); !has.Tools && !has.Resources && !has.Prompts {
		a.say("the capabilities of the server declare no tools, resources or prompts, so nothing is listed")
	}
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
		return orUnlisted(ctx, c, surface.Prompts, "prompt", name, a.raw(ctx, c, protocol.MethodGetPrompt, struct {
			Name      string            `json:"name"`
			Arguments map[string]string `json:"arguments,omitempty"`
		}{name, values}))
	}
	result, err := c.GetPrompt(ctx, name, values)
	if err != nil {
		return orUnlisted(ctx, c, surface.Prompts, "prompt", name, err)
	}
	printMessages(a.out, result)
	return nil
}

// orUnlisted adds similar names to err if the server does not list the component. parts names the list
// of components of this kind.
func orUnlisted(ctx context.Context, c *client.Client, parts surface.Part, kind, name string, err error) error {
	if err == nil {
		return nil
	}
	all, listErr := surface.Read(ctx, c, parts)
	if listErr != nil {
		return err
	}
	return withSimilar(err, name, kind, all)
}

// withSimilar adds similar names to err if name is not among the components of this kind that the server
// lists. The error of the server stays, because the component may be hidden.
func withSimilar(err error, name, kind string, all *surface.Surface) error {
	names := namesOf(all, kind)
	if err == nil || slices.Contains(names, name) {
		return err
	}
	return errors.Join(err, &unlistedError{unlisted(err, kind, name, names)})
}

// raw sends a request and prints the raw result.
func (a *cli) raw(ctx context.Context, c *client.Client, method string, params any) error {
	answer, err := request(ctx, c, method, params)
	if err != nil {
		return err
	}
	return printJSON(a.out, answer)
}

// request sends a request and returns the raw result.
func request(ctx context.Context, c *client.Client, method string, params any, opts ...client.CallOption) (json.RawMessage, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	return c.Request(ctx, method, raw, append(opts, client.InRounds())...)
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
