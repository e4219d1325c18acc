package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// completionPatience is how long the shell waits for a server.
const completionPatience = 10 * time.Second

// completes lets the shell complete SERVER, and then the words that names returns. names receives
// the arguments after SERVER, and the word that the user is typing.
func (a *cli) completes(cmd *cobra.Command, names func(all *surface.Surface, args []string, word string) []string) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		server, rest, err := a.splitServer(args) // a.arguments would find the "--" that cobra adds to the words
		if err != nil || len(server) == 0 {
			return serverNames(), cobra.ShellCompDirectiveDefault // and files
		}
		if names == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all := a.listsFor(cmd.Context(), server)
		if all == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found := names(all, rest, word)
		found = slices.DeleteFunc(found, func(name string) bool { return !strings.HasPrefix(name, word) })
		if len(found) > 0 && strings.HasSuffix(found[0], "=") {
			return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// completesFlag lets the shell complete the values of a flag.
func completesFlag(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

// listsFor returns the lists of a server, from the cache if possible. If the server does not
// answer, listsFor returns nil.
func (a *cli) listsFor(ctx context.Context, server []string) *surface.Surface {
	if all := a.keptLists(server, surface.All); all != nil {
		return all
	}
	a.timeout, a.quiet = completionPatience, true
	var all *surface.Surface
	err := a.look(ctx, server, func(ctx context.Context, c *client.Client) (err error) {
		all, err = surface.Read(ctx, c, surface.All)
		return err
	})
	if err != nil {
		return nil
	}
	a.keepLists(server, surface.All, all)
	return all
}

// serverNames returns the names of servers in all configurations.
func serverNames() []string {
	var names []string
	for _, one := range configuredIn(namedFiles()) {
		if one.Name != "" && one.Problem == "" {
			names = append(names, one.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// toolWords returns the names of tools, or the words for the arguments of the given tool.
func toolWords(all *surface.Surface, args []string, word string) []string {
	if len(args) == 0 {
		return namesOf(all, "tool")
	}
	tool, _ := toolNamed(all, args[0])
	return argumentWords(tool.InputSchema, args[1:], word)
}

// argumentWords returns the arguments that are not given yet, or the values of the argument that
// the user is typing.
func argumentWords(inputSchema json.RawMessage, given []string, word string) []string {
	schema, err := surface.ParseSchema(inputSchema)
	if err != nil {
		return nil
	}
	if name, _, typing := strings.Cut(word, "="); typing {
		var words []string
		member, _ := schema.Property(name)
		for _, value := range valuesOf(member.Resolve()) {
			words = append(words, name+"="+value)
		}
		return words
	}
	var words []string
	for _, name := range schema.Names() {
		if !slices.ContainsFunc(given, func(arg string) bool { return strings.HasPrefix(arg, name+"=") }) {
			words = append(words, name+"=")
		}
	}
	return words
}

// valuesOf returns the values that a schema lists, written as a user types them.
func valuesOf(s *surface.Schema) []string {
	all := alternatives(s)
	if items := itemsOf(s); items != nil {
		s = items.Resolve()
		all = append(all, alternatives(s)...)
	}
	var values []string
	for _, one := range all {
		for _, raw := range one.Enum {
			values = append(values, shown(raw))
		}
		if one.Const != nil {
			values = append(values, shown(one.Const))
		}
	}
	if len(values) == 0 && slices.Equal(s.Types, surface.Types{"boolean"}) {
		return []string{"true", "false"}
	}
	return values
}

// promptWords returns the names of prompts, or the arguments of the given prompt that are not given
// yet.
func promptWords(all *surface.Surface, args []string, _ string) []string {
	if len(args) == 0 {
		return namesOf(all, "prompt")
	}
	var words []string
	for _, prompt := range all.Prompts {
		for _, arg := range prompt.Arguments {
			if prompt.Name == args[0] && !slices.ContainsFunc(args[1:], func(given string) bool { return strings.HasPrefix(given, arg.Name+"=") }) {
				words = append(words, arg.Name+"=")
			}
		}
	}
	return words
}

// uriWords returns the URIs of resources, and the URIs of templates up to their first variable.
func uriWords(all *surface.Surface, args []string, _ string) []string {
	if len(args) > 0 {
		return nil
	}
	words := namesOf(all, "resource")
	for _, template := range namesOf(all, "template") {
		fixed, _, _ := strings.Cut(template, "{")
		words = append(words, fixed)
	}
	return words
}
