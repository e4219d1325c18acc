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

// inspectPatience is how long a program may take to print its report. A program that does not
// support --inspect may serve instead, and never end.
const inspectPatience = 20 * time.Second

func (a *cli) inspectCommand() *cobra.Command {
	var chain bool
	cmd := &cobra.Command{
		Use: "inspect SERVER", Short: "Show everything that a server offers",
		Long: `Show everything that a server offers.

A Go package is built and run with --inspect=json. Programs of serve.Main support this flag,
and other programs can add it with framework/serve/inspect. The report shows what clients
with all scopes see, and the source lines of each component. With --chain it also shows the
middleware of every component. Other servers are listed through MCP.

--profile adds what known clients and model APIs refuse, shorten or change, and the tokens
that the tools cost. Each rule has its source. With --strict, findings also give exit code 1.`,
		Example: `  kagami inspect ./examples/weather
  kagami inspect ./examples/secured --chain
  kagami inspect https://mcp.example.com/mcp --bearer "$TOKEN"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.profiles.check(); err != nil {
				return err
			}
			return a.inspect(cmd, args, chain)
		},
	}
	cmd.Flags().StringSliceVar(&a.profiles.profiles, "profile", nil, "show what known clients refuse or change: `NAMES` of "+strings.Join(profile.Names(), ", ")+", or all")
	completesFlag(cmd, "profile", append(profile.Names(), "all")...)
	strictFlag(cmd, &a.profiles.strict)
	a.completes(cmd, nil)
	cmd.Flags().BoolVar(&chain, "chain", false, "show the middleware of every component, outermost first; the server must be a program that supports --inspect")
	return cmd
}

func (a *cli) inspect(cmd *cobra.Command, args []string, chain bool) error {
	strict := a.profiles.strict
	server, _, err := a.arguments(cmd, args)
	if err != nil {
		return err
	}
	atURL := remote(server)
	switch {
	case strict && atURL && len(a.profiles.profiles) == 0:
		return errStrictURL
	case chain && atURL:
		return usagef("--chain: a server at a URL does not show its middleware; give its Go package")
	case chain && a.revision != "":
		return usagef("--chain and --revision exclude each other: the middleware is the same at all revisions")
	case atURL || a.revision != "" || len(a.headers) > 0 || a.bearer != "" || !chain && (!strict || len(a.profiles.profiles) > 0) && !isPackage(server):
		return a.showServer(cmd.Context(), server, surface.All)
	}
	ctx := cmd.Context()
	program, cleanup, err := a.program(ctx, server)
	if err != nil {
		return &unreachedError{err}
	}
	defer cleanup()
	doc, err := a.ownReport(ctx, program)
	if errors.Is(err, errNoReport) && !chain && !strict {
		return a.showServer(ctx, server, surface.All) // build again: errors must name the package, not the temporary program
	}
	if err != nil {
		return err
	}
	return errors.Join(a.printReport(doc, chain), strictly(doc, strict))
}

// isPackage reports whether the server is a Go package that must be built.
func isPackage(server []string) bool {
	if len(server) > 1 {
		return false
	}
	_, err := lookPath(inPlace(server[0]))
	info, statErr := os.Stat(server[0])
	return err != nil && (statErr != nil || info.IsDir() || strings.HasSuffix(server[0], ".go"))
}

// errNoReport is the error for a program that does not support --inspect=json.
var errNoReport = errors.New("the server does not support --inspect=json: write it with serve.Main, or use package framework/serve/inspect")

// ownReport runs the program to get its report. The program has no stdin. If it ignores --inspect
// and serves MCP on stdin, it therefore ends at once.
func (a *cli) ownReport(ctx context.Context, program *exec.Cmd) ([]byte, error) {
	defer a.notice(buildNotice, "waiting for the report of "+program.Args[0])()
	ctx, cancel := context.WithTimeout(ctx, inspectPatience)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, program.Args[0], append(program.Args[1:], "--inspect=json")...)
	useCmdExe(cmd)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = program.Env, program.Dir, &out, &errs
	cmd.WaitDelay = time.Second // child processes may keep the streams open
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
	case unread == nil && report.Problems > 0: // stderr has the problems as text
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
