// Command kagami calls, inspects and tests MCP servers from a shell.
//
//	kagami call ./examples/weather forecast city=Kyoto days=2
//	kagami inspect -- npx some-server --flag
//
// SERVER is a Go package, a program, or the URL of a server over HTTP. A package is a
// directory or an import path; kagami builds it with the go command and starts it. Give
// a whole command line after "--" or in --cmd. kagami uses the newest revision that both
// sides support.
//
// A server may ask questions during call, read and prompt. The user answers them in the
// terminal, or the file of --answers has the answers. Without both, kagami does not
// declare that the client can be asked. kagami prints the URLs of pages and does not open
// them.
//
// Only results go to stdout. Questions, diagnostics and the server's stderr go to stderr.
// "kagami --help" lists the exit codes.
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

	"github.com/mattn/go-isatty"

	"github.com/kagami-mcp/kagami/cmd/kagami/internal/group"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // output that is not read is an error, and does not end the process
	ctx, stop := signal.NotifyContext(context.Background(), endSignals()...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal then ends the process at once
	a := &cli{in: os.Stdin, out: os.Stdout, errs: os.Stderr}
	if dir, err := os.UserCacheDir(); err == nil {
		a.cache = filepath.Join(dir, "kagami", "lists")
	}
	if s := newScreen(os.Stderr); s != nil {
		a.errs = s
	}
	if isatty.IsTerminal(os.Stdout.Fd()) {
		a.out, a.sheet = visible{os.Stdout}, newScreen(os.Stdout)
	}
	return a.run(ctx, args)
}

// endSignals returns the signals that end a command.
func endSignals() []os.Signal {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		ends = append(ends, syscall.SIGHUP)
	}
	return ends
}

// killOnSecondSignal makes a second signal kill the programs in process groups of their own. The command then ends.
// A third signal ends the process at once. Call stop at the end of the command.
func killOnSecondSignal(ctx context.Context) (stop func()) {
	ended := make(chan struct{})
	context.AfterFunc(ctx, func() {
		again := make(chan os.Signal, 1)
		signal.Notify(again, endSignals()...)
		defer signal.Stop(again)
		select {
		case <-again:
			group.KillNow()
		case <-ended:
		}
	})
	return func() { close(ended) }
}

// run runs a command line and returns the exit code.
func (a *cli) run(ctx context.Context, args []string) int {
	terminal, _ := a.errs.(*screen)
	defer terminal.clear()
	out := &kept{w: a.out, before: terminal}
	a.out = out
	root := a.command()
	root.SetArgs(args)
	root.SetOut(a.out)
	root.SetErr(a.errs)
	strictCompletion(root)
	command, err := root.ExecuteContextC(ctx)
	err = cause(ctx, err)
	if err == nil {
		err = out.err
	}
	how := exitOf(ctx, err)
	if err == nil || isUnread(out.err) { // the program that read the output has ended, such as head
		return how.code
	}
	if (a.json || wantsJSON(args)) && !out.wrote {
		how.report(out, err)
	}
	errs, name := a.errs, terminal.paint(red, "kagami:")
	switch how {
	case exitTool: // the text is the result of the tool, so it gets no prefix
		_, _ = fmt.Fprintln(errs, onTerminal(err.Error()))
	case exitContract: // the changes were printed to stdout
	case exitUsage:
		_, _ = fmt.Fprintf(errs, "%s %s\nTry: %s --help\n", name, onTerminal(err.Error()), command.CommandPath())
	default:
		_, _ = fmt.Fprintf(errs, "%s %s\n", name, onTerminal(failure(err)))
	}
	return how.code
}

// wantsJSON reports whether --json is on a command line that could not be parsed. It ignores the
// words after "--", because they belong to the server.
func wantsJSON(args []string) bool {
	if dashes := slices.Index(args, "--"); dashes >= 0 {
		args = args[:dashes]
	}
	return slices.Contains(args, "--json")
}

// failure returns the text of an error. Some messages end with a command to copy. If a message has
// several lines, failure therefore puts the JSON-RPC code on its own line.
func failure(err error) string {
	text := err.Error()
	var refused *protocol.Error
	if errors.As(err, &refused) && strings.Contains(refused.Message, "\n") {
		text = strings.Replace(text, refused.Error(),
			fmt.Sprintf("%s\n(JSON-RPC error %d)", refused.Message, refused.Code), 1)
	}
	return text + remedy(err)
}

// remedy returns what the user can do about err. It knows questions without an answer, tasks, pages
// to visit, and tokens that are missing, no longer valid, or lack scopes. For other errors it
// returns "".
func remedy(err error) string {
	fault, refused := errors.AsType[*protocol.Fault](err)
	status, isHTTP := errors.AsType[*client.HTTPError](err)
	switch {
	case isHTTP && status.Status == http.StatusUnauthorized:
		return told(status) + "\nThe server wants a valid token: log in (kagami auth login), give --bearer TOKEN or set " + bearerEnv + "."
	case errors.Is(err, oauth.ErrLogin), isLogin(err):
		return loginRemedy(err)
	case isHTTP && status.Challenge != "":
		return told(status)
	case errors.Is(err, client.ErrTaskGone):
		return "\nTasks expire. On 2025-11-25 only the principal (--bearer) or the session that made a task can find it."
	case refused && fault.Required != nil && fault.Required.Tasks:
		return "\nThe tool runs only as a task: call it with --task."
	case errors.Is(err, client.ErrInputRequired), refused && fault.Kind == protocol.FaultMissingCapability:
		return "\nRun it in a terminal to answer, or use --answers, --sample or --root (see the help of the command)."
	case !refused || fault.Kind != protocol.FaultURLRequired:
		return ""
	}
	var text strings.Builder
	text.WriteString("\nThe server wants you to visit a page first. Then call again:")
	for _, page := range fault.Elicitations {
		_, _ = fmt.Fprintf(&text, "\n  %s (%s)", page.URL, onOneLine(page.Message))
	}
	return text.String()
}

// authError is the error of a command of "kagami auth", whose advice must not be the command itself.
type authError struct {
	error
	command, server string
}

func (e *authError) Unwrap() error { return e.error }

// loginRemedy returns what the user can do about a login that is needed or has failed.
func loginRemedy(err error) string {
	server, command := "URL", ""
	if e, ok := errors.AsType[*oauth.Error](err); ok && e.Server != "" {
		server = onOneLine(e.Server)
	}
	if e, ok := errors.AsType[*authError](err); ok {
		command, server = e.command, onOneLine(e.server)
	}
	switch needed := errors.Is(err, oauth.ErrLogin); {
	case command == "debug", command == "login" && needed:
		return ""
	case needed:
		return "\nLog in with: kagami auth login " + server
	}
	return "\nTo see each step, run: kagami auth debug " + server + "\nIf you have a token, give it with --bearer or " + bearerEnv + "."
}

// told returns the server's explanation of a refusal. It leaves out the scopes, because the error
// already names them.
func told(status *client.HTTPError) string {
	why := strings.Trim(status.ChallengeParam("error")+": "+status.ChallengeParam("error_description"), ": ")
	if why == "" {
		return ""
	}
	return "\nThe server says: " + onOneLine(why) + "."
}
