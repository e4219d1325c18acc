package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/protocol"
)

// cli holds the streams and flags of one run of the program.
type cli struct {
	in   io.Reader // if it is a terminal, the user answers questions here
	out  io.Writer
	errs io.Writer // a *screen if it is a terminal

	sheet   *screen    // stdout; nil if it is not a terminal
	log     *serverLog // log of the server that was started last; nil before the first
	cache   string     // directory of the cached lists of servers; "": no cache
	quiet   bool       // --quiet
	verbose bool       // --verbose

	commandLine string        // --cmd
	revision    string        // --revision
	timeout     time.Duration // --timeout
	progress    bool          // --progress
	json        bool          // --json
	headers     []string      // --header
	bearer      string        // --bearer
	account     string        // --account of auth

	browse func(ctx context.Context, url string) error // opens a page; nil: use the browser of the system
	limit  *limit                                      // time limit of the open session

	built      map[string]string // programs of Go packages, for a command with several sessions; see buildOnce
	goEnv      []string          // environment of builds, in addition to the one of kagami
	serverName string            // the name, if the server was given by one
	serverEnv  []string          // environment from the configuration of a server that was given by name
	serverDir  string            // working directory from there; "": the one of kagami
	looks      bool              // the program only shows what it offers: it does not use its store
	literal    bool              // references in the configuration, such as ${TOKEN}, stay as they are

	tasks  taskFlags // flags of call
	output string    // --output of call

	profiles profileFlags // flags of inspect

	asks    bool     // the server may ask questions during this command
	answers string   // --answers
	sample  string   // --sample
	roots   []string // --root
}

// usageError is the error of a wrong command line.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

func (a *cli) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "kagami",
		Short: "Call, inspect and test MCP servers from a shell",
		Long: `Call, inspect and test MCP servers from a shell.

SERVER is a Go package, a program, the URL of a server over HTTP, or a name that
"kagami discover" lists. A package is a directory such as ./examples/weather, or an import
path; kagami builds and starts it. Give a whole command line with --cmd, or after "--" at
the end.

` + exitHelp,
		Example: `  kagami call ./examples/weather forecast city=Kyoto days=2
  kagami call ./examples/weather compare cities=Kyoto,Oslo --progress
  kagami inspect ./examples/everything
  kagami page ./examples/weather
  kagami tools -- node server.js
  kagami call https://mcp.example.com/mcp search query=tea --bearer "$TOKEN"`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q%s", args[0], meant("", args[0], commandNames(cmd)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if name, ok := strings.CutPrefix(err.Error(), "unknown flag: --"); ok {
			err = fmt.Errorf("unknown flag --%s%s", name, cmp.Or(meant("--", name, flagNames(cmd)), meant(cmd.CommandPath()+" ", name, commandNames(cmd))))
		}
		return &usageError{err}
	})
	flags := root.PersistentFlags()
	flags.StringVar(&a.commandLine, "cmd", "", "command line of the server, instead of SERVER")
	flags.StringVar(&a.revision, "revision", "", "use only this revision (default: the newest that both sides support)")
	completesFlag(root, "revision", strings.Split(join(protocol.Revisions()), ", ")...)
	flags.DurationVar(&a.timeout, "timeout", time.Minute, "how long the server may take, without the time for your answers; 0: no limit")
	flags.BoolVar(&a.json, "json", false, "print the raw result as JSON")
	flags.StringArrayVar(&a.headers, "header", nil, "`'Name: value'` to send with each request to a URL; repeatable")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "do not show the log of a server that kagami starts")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "show times and source lines in the log of a server that kagami starts")
	flags.StringVar(&a.bearer, "bearer", "", "`TOKEN` to send to a URL (default: $"+bearerEnv+")")
	root.SetHelpCommand(helpCommand())
	root.AddCommand(
		a.callCommand(), a.showCommand("list", "List everything that a server offers, one line each", a.list),
		a.listCommand("tools", "List the tools of a server", surface.Tools),
		a.listCommand("resources", "List the resources of a server, templates included", surface.Resources|surface.Templates),
		a.listCommand("prompts", "List the prompts of a server", surface.Prompts),
		a.readCommand(), a.promptCommand(), a.completeCommand(), a.benchCommand(), a.tasksCommand(), a.inspectCommand(), a.pageCommand(), a.newCommand(), a.devCommand(), a.standInCommand(),
		a.installCommand(), a.uninstallCommand(), a.clientsCommand(), a.discoverCommand(),
		a.genCommand(), a.authCommand(), a.lockCommand(), a.diffCommand(), a.doctorCommand(), a.conformanceCommand(), a.versionCommand(),
	)
	return root
}

// commandNames returns the names of all commands.
func commandNames(root *cobra.Command) []string {
	var names []string
	for _, cmd := range root.Commands() {
		if !cmd.Hidden {
			names = append(names, cmd.Name())
		}
	}
	return names
}

// flagNames returns the names of the flags that a command has.
func flagNames(cmd *cobra.Command) []string {
	var names []string
	for word := range strings.FieldsSeq(cmd.LocalFlags().FlagUsages() + cmd.InheritedFlags().FlagUsages()) {
		if name, ok := strings.CutPrefix(word, "--"); ok {
			names = append(names, name)
		}
	}
	return names
}

// meant returns a question that suggests the known name nearest to name. If no name is near, it
// returns "".
func meant(prefix, name string, known []string) string {
	if near := nearest(name, known); len(near) > 0 {
		return ": did you mean " + prefix + near[0] + "?"
	}
	return ""
}

// noArguments returns an error if a command that takes no arguments gets one.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unexpected argument %q%s", args[0], meant("", args[0], commandNames(cmd)))
	}
	return nil
}

// strictCompletion adds the command completion of cobra. The difference is that an unknown shell, and an argument
// after it, are errors. Call it when the output is set.
func strictCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"}) // cobra has just added it
	completion.Args = noArguments
	completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	for _, shell := range completion.Commands() {
		shell.Args = noArguments
	}
}

// helpCommand returns a help command like the one of cobra. The difference is that an unknown
// command is an error.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [command]", Short: "Help about any command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("help: unknown command %q", strings.Join(args, " "))
			}
			return about.Help()
		},
	}
}
