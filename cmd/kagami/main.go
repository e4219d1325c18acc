// Command kagami talks to MCP servers from a shell: it calls tools, reads
// resources, gets prompts and shows what a server offers.
//
//	kagami call ./examples/weather forecast city=Kyoto days=2
//	kagami inspect -- npx some-server --flag
//
// SERVER is a Go package (a directory or an import path: it is built with the go
// command and started), a program, or the URL of a server over HTTP. Whole command
// lines come after "--" or in --cmd. kagami speaks the newest revision both sides
// know.
//
// What a server asks during call, read and prompt is asked in the terminal, or
// answered from the file of --answers; without both, the server is told that nobody
// can be asked. Pages are shown and never opened.
//
// Results go to stdout and nothing else does; questions, diagnostics and the
// server's own stderr go to stderr. "kagami --help" lists the exit codes.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // then a second signal ends the process at once
	a := &cli{in: os.Stdin, out: os.Stdout, errs: os.Stderr}
	if dir, err := os.UserCacheDir(); err == nil {
		a.cache = filepath.Join(dir, "kagami", "lists")
	}
	if s := newScreen(os.Stderr); s != nil {
		a.errs = s
	}
	if isTerminal(os.Stdout) {
		a.out, a.sheet = visible{os.Stdout}, newScreen(os.Stdout)
	}
	return a.run(ctx, args)
}

// run is the program without the process: it returns the exit code.
func (a *cli) run(ctx context.Context, args []string) int {
	terminal, _ := a.errs.(*screen)
	defer terminal.clear()
	out := &kept{w: a.out, before: terminal}
	a.out = out
	root := a.command()
	root.SetArgs(args)
	root.SetOut(a.out)
	root.SetErr(a.errs)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = out.err
	}
	how := exitOf(ctx, err)
	if err == nil {
		return how.code
	}
	if (a.json || wantsJSON(args)) && !out.wrote {
		how.report(out, err)
	}
	errs, name := a.errs, terminal.paint(red, "kagami:") // errors contain texts of the server
	switch how {
	case exitTool: // the text comes from the server, and is printed without a prefix
		_, _ = fmt.Fprintln(errs, onTerminal(err.Error()))
	case exitContract: // the changes were printed to stdout
	case exitUsage:
		_, _ = fmt.Fprintf(errs, "%s %s\nTry: kagami --help\n", name, onTerminal(err.Error()))
	default:
		_, _ = fmt.Fprintf(errs, "%s %s\n", name, onTerminal(failure(err)))
	}
	return how.code
}

// wantsJSON reports whether --json is on a command line that could not be understood. What follows
// "--" belongs to the server.
func wantsJSON(args []string) bool {
	if dashes := slices.Index(args, "--"); dashes >= 0 {
		args = args[:dashes]
	}
	return slices.Contains(args, "--json")
}

// failure is the text of an error. Some errors end with a call that can be copied, so a code is
// put on a line of its own if the message has several lines.
func failure(err error) string {
	text := err.Error()
	var refused *protocol.Error
	if errors.As(err, &refused) && strings.Contains(refused.Message, "\n") {
		text = strings.Replace(text, refused.Error(),
			fmt.Sprintf("%s\n(JSON-RPC error %d)", refused.Message, refused.Code), 1)
	}
	return text + remedy(err)
}

// remedy says what the user can do about questions without an answer, and about a token that is
// missing, not valid any more, or lacks scopes.
func remedy(err error) string {
	fault, refused := errors.AsType[*protocol.Fault](err)
	status, isHTTP := errors.AsType[*client.HTTPError](err)
	switch {
	case isHTTP && status.Status == http.StatusUnauthorized:
		return told(status) + "\nThe server wants a valid token: log in (kagami auth login), give --bearer TOKEN or set " + bearerEnv + "."
	case errors.Is(err, oauth.ErrLogin):
		return "\nLog in with: kagami auth login URL"
	case isLogin(err):
		return "\nEach step is shown by: kagami auth debug URL\nIf you have a token, give it by --bearer or " + bearerEnv + "."
	case isHTTP && status.Challenge != "":
		return told(status)
	case errors.Is(err, client.ErrTaskGone):
		return "\nTasks expire, and those of 2025-11-25 are found only by the principal (--bearer) or session that made them."
	case refused && fault.Required != nil && fault.Required.Tasks:
		return "\nThe tool runs as a task only: call it with --task."
	case errors.Is(err, client.ErrInputRequired), refused && fault.Kind == protocol.FaultMissingCapability:
		return "\nRun it in a terminal to answer, or see --answers, --sample and --root in the help of the command."
	case !refused || fault.Kind != protocol.FaultURLRequired:
		return ""
	}
	var text strings.Builder
	text.WriteString("\nThe server wants you to visit a page first; then call again:")
	for _, page := range fault.Elicitations {
		_, _ = fmt.Fprintf(&text, "\n  %s (%s)", page.URL, onOneLine(page.Message))
	}
	return text.String()
}

// told is the server's own explanation, besides the scopes, which the error has.
func told(status *client.HTTPError) string {
	why := strings.Trim(status.ChallengeParam("error")+": "+status.ChallengeParam("error_description"), ": ")
	if why == "" {
		return ""
	}
	return "\nThe server says: " + onOneLine(why) + "."
}
