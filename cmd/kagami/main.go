// Command kagami talks to MCP servers from a shell: it calls tools, reads
// resources, gets prompts and shows what a server offers.
//
//	kagami call ./examples/weather forecast city=Kyoto days=2
//	kagami inspect -- npx some-server --flag
//
// SERVER is a Go package (a directory or an import path: it is built with the go
// command and started), or a program. Whole command lines come after "--" or in
// --cmd. kagami speaks over stdio, at the newest revision both sides know.
//
// Results go to stdout and nothing else does; diagnostics and the server's own
// stderr go to stderr. Exit codes: 0 success, 1 an error result or a failure,
// 2 wrong usage.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/kagami-mcp/kagami/protocol"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	a := &cli{out: os.Stdout, errs: os.Stderr}
	if isTerminal(os.Stdout) {
		a.out = visible{os.Stdout}
	}
	return a.run(ctx, args)
}

// run is everything but the process: it returns the exit code.
func (a *cli) run(ctx context.Context, args []string) int {
	root := a.command()
	root.SetArgs(args)
	root.SetOut(a.out)
	root.SetErr(a.errs)
	err := root.ExecuteContext(ctx)
	var usage *usageError
	var tool *toolError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &tool): // the text is the server's: nothing is put before it
		_, _ = fmt.Fprintln(a.errs, tool.text)
		return 1
	case errors.As(err, &usage):
		_, _ = fmt.Fprintf(a.errs, "kagami: %v\nTry: kagami --help\n", err)
		return 2
	}
	_, _ = fmt.Fprintf(a.errs, "kagami: %s\n", failure(err))
	return 1
}

// failure is the text of an error. Teaching errors end with a call to copy, so
// the code of a message of several lines gets a line of its own.
func failure(err error) string {
	var refused *protocol.Error
	if !errors.As(err, &refused) || !strings.Contains(refused.Message, "\n") {
		return err.Error()
	}
	return strings.Replace(err.Error(), refused.Error(),
		fmt.Sprintf("%s\n(JSON-RPC error %d)", refused.Message, refused.Code), 1)
}
