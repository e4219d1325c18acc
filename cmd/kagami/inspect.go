package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/framework/serve/surface/profile"
)

// inspectPatience bounds how long a program may take to print its report: one that does not
// know --inspect may begin to serve instead.
const inspectPatience = 20 * time.Second

func (a *cli) inspectCommand() *cobra.Command {
	var chain, strict bool
	var profiles []string
	cmd := &cobra.Command{
		Use: "inspect SERVER", Short: "Show all that a server offers",
		Long: `Show all that a server offers.

A Go package is built and run with --inspect=json, which programs of serve.Main know, and
those with flags of their own that have one of framework/serve/inspect:
what clients with all scopes see, the lines of code it comes from and, with --chain, the
middleware in front of every component. All others are asked as a client.

--profile adds what known clients and APIs of models refuse, cut or change, each rule with
its source, and what the tools cost in tokens. With --strict that is exit code 1, too.`,
		Example: `  kagami inspect ./examples/weather
  kagami inspect ./examples/secured --chain
  kagami inspect https://mcp.example.com/mcp --bearer "$TOKEN"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.profiles = profileFlags{profiles, strict}
			if err := a.profiles.check(); err != nil {
				return err
			}
			return a.inspect(cmd, args, chain, strict)
		},
	}
	cmd.Flags().StringSliceVar(&profiles, "profile", nil, "say what known clients do not take: `NAMES` of "+strings.Join(profile.Names(), ", ")+", or all")
	strictFlag(cmd, &strict)
	a.completes(cmd, nil)
	cmd.Flags().BoolVar(&chain, "chain", false, "show the middleware of every component, outermost first; the server must be a program that knows --inspect")
	return cmd
}

func (a *cli) inspect(cmd *cobra.Command, args []string, chain, strict bool) error {
	server, _, err := a.arguments(cmd, args)
	if err != nil {
		return err
	}
	atURL := len(server) == 1 && isURL(server[0])
	switch {
	case strict && atURL && len(a.profiles.profiles) == 0:
		return errStrictURL
	case chain && atURL:
		return usagef("--chain: a server at a URL does not show its middleware; give its Go package")
	case chain && a.revision != "":
		return usagef("--chain and --revision: the middleware is the same at all revisions")
	case atURL || a.revision != "" || len(a.headers) > 0 || a.bearer != "" || !chain && (!strict || len(a.profiles.profiles) > 0) && !isPackage(server):
		return a.showServer(cmd.Context(), server, surface.All)
	}
	ctx := cmd.Context()
	program, cleanup, err := a.program(ctx, server)
	if err != nil {
		return err
	}
	defer func() { _ = cleanup() }()
	doc, err := a.ownReport(ctx, program)
	if errors.Is(err, errNoReport) && !chain && !strict {
		return a.showServer(ctx, server, surface.All) // the second build comes from the cache, and errors have the program's name
	}
	if err != nil {
		return err
	}
	return errors.Join(a.printReport(doc, chain), strictly(doc, strict))
}

// isPackage says whether the server is a Go package that would be built.
func isPackage(server []string) bool {
	if len(server) > 1 {
		return false
	}
	_, err := exec.LookPath(server[0])
	info, statErr := os.Stat(server[0])
	return err != nil && (statErr != nil || info.IsDir() || strings.HasSuffix(server[0], ".go"))
}

// errNoReport means that the program does not know --inspect=json.
var errNoReport = errors.New("the server does not answer to --inspect=json: write it with serve.Main, or use package framework/serve/inspect")

// ownReport runs the program to get its report. It has no stdin, so that a program that ignores
// --inspect and speaks MCP there ends at once.
func (a *cli) ownReport(ctx context.Context, program *exec.Cmd) ([]byte, error) {
	defer a.notice("waiting for " + program.Path + " to show itself")()
	ctx, cancel := context.WithTimeout(ctx, inspectPatience)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, program.Path, append(program.Args[1:], "--inspect=json")...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = time.Second // its children may keep its streams open
	err := cmd.Run()
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, ctx.Err()
	}
	var report struct {
		Revision string `json:"revision"`
		Problems int    `json:"problems"`
	}
	unread := json.Unmarshal(out.Bytes(), &report)
	switch {
	case unread == nil && report.Problems > 0: // people find the report on stderr
		return nil, fmt.Errorf("the server does not start\n%s", strings.TrimSpace(errs.String()))
	case unread != nil || report.Revision == "":
		return nil, fmt.Errorf("%w\n%s", errNoReport, strings.TrimSpace(errs.String()))
	case err != nil:
		return nil, fmt.Errorf("inspecting the server: %w\n%s", err, strings.TrimSpace(errs.String()))
	}
	_, _ = a.errs.Write(errs.Bytes())
	return out.Bytes(), nil
}

func (a *cli) printReport(doc []byte, chain bool) error {
	s, err := surface.Parse(doc)
	if err != nil {
		return err
	}
	s.Chains = chain
	if a.json && len(a.profiles.profiles) == 0 {
		_, err := a.out.Write(doc)
		return err
	}
	return a.printSurface(s)
}
