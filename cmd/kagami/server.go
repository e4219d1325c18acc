package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kagami-mcp/kagami/cmd/kagami/internal/group"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// Times after which a slow step is announced to the user.
const (
	buildNotice  = time.Second
	silentNotice = 5 * time.Second // a program that has not answered initialize
)

// arguments separates the server from the other arguments. The server is the words after "--";
// without "--" it is the words of --cmd, and otherwise the first argument. want names the other
// arguments. Its last element may be "...", which stands for any number of arguments.
func (a *cli) arguments(cmd *cobra.Command, args []string, want ...string) (server, rest []string, err error) {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		server, rest = args[dash:], args[:dash]
	} else if server, rest, err = a.splitServer(args); err != nil {
		return nil, nil, err
	}
	if len(server) == 0 || server[0] == "" { // "" comes from a shell variable that is not set
		return nil, nil, usagef("no server: give SERVER, --cmd COMMAND, or -- COMMAND")
	}
	open := len(want) > 0 && strings.HasSuffix(want[len(want)-1], "...")
	if open {
		want = want[:len(want)-1]
	}
	if len(rest) < len(want) {
		return nil, nil, usagef("no %s given", want[len(rest)])
	}
	if len(rest) > len(want) && !open {
		return nil, nil, usagef("unexpected argument %q", rest[len(want)])
	}
	return server, rest, nil
}

// splitServer separates the server from the other arguments. It does not look for "--".
func (a *cli) splitServer(args []string) (server, rest []string, err error) {
	switch {
	case a.commandLine != "":
		if server, err = words(a.commandLine, runtime.GOOS); err != nil {
			err = usagef("--cmd: %w", err)
		}
		return server, args, err
	case len(args) == 0:
		return nil, nil, nil
	}
	server, err = a.lookUp(args[0])
	return server, args[1:], err
}

// onServer returns a function for cobra.Command.RunE that calls run with the server. The command must
// not have other arguments.
func (a *cli) onServer(run func(ctx context.Context, server []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		server, _, err := a.arguments(cmd, args)
		if err != nil {
			return err
		}
		return run(cmd.Context(), server)
	}
}

// words splits a command line at spaces as a shell does, with quotes and backslashes. A backslash
// before a letter stays, so that Windows paths do not need quotes. On Windows, backslashes have an effect
// only before a double quote, as in the arguments of Windows programs.
func words(line, system string) ([]string, error) {
	escapes := func(rest string) bool {
		return system != "windows" || strings.HasPrefix(strings.TrimLeft(rest, `\`), `"`)
	}
	var out []string
	var word strings.Builder
	var quote rune
	started, escaped := false, false
	for i, r := range line {
		switch {
		case escaped:
			if !strings.ContainsRune(" \t\n\\'\"", r) {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'' && escapes(line[i+1:]):
			escaped, started = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, started = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if started {
				out = append(out, word.String())
			}
			word.Reset()
			started = false
		default:
			word.WriteRune(r)
			started = true
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("unfinished quote or escape")
	}
	if started {
		out = append(out, word.String())
	}
	return out, nil
}

// onlyRevision returns the revision of --revision, or zero without the flag.
func (a *cli) onlyRevision() (protocol.Revision, error) {
	rev, ok := protocol.ParseRevision(a.revision)
	if a.revision != "" && !ok {
		return rev, usagef("--revision: got %q, want one of %s", a.revision, join(protocol.Revisions()))
	}
	return rev, nil
}

// look is session for a body that only reads what the server offers.
func (a *cli) look(ctx context.Context, server []string, body func(context.Context, *client.Client) error, opts ...client.Option) error {
	a.looks = true
	defer func() { a.looks = false }()
	return a.session(ctx, server, body, opts...)
}

// session runs body with a client of the server, and then closes the client. A program that was
// started ends with it.
func (a *cli) session(
	ctx context.Context, server []string, body func(context.Context, *client.Client) error, opts ...client.Option,
) error {
	if a.timeout < 0 {
		return usagef("--timeout must not be negative; 0 sets no limit")
	}
	rev, err := a.onlyRevision()
	if err != nil {
		return err
	}
	if !rev.IsZero() {
		opts = append(opts, client.Revisions(rev))
	}
	questions, err := a.asker()
	if err != nil {
		return err
	}
	to, cleanup, err := a.target(ctx, server)
	if wraps[*usageError](err) {
		return err
	}
	if err != nil {
		return &unreachedError{err}
	}
	defer cleanup()
	ctx, limit := limited(ctx, a.timeout)
	defer limit.end()
	a.limit = limit
	opts = append(opts, client.Name("kagami", version()))
	answered := func() {}
	if a.log != nil { // it is a program
		answered = a.notice(silentNotice, "the program has not answered on its standard output yet. If it serves HTTP only, start it and give its URL, such as http://127.0.0.1:8080/mcp")
	}
	c, err := client.Connect(ctx, to, append(opts, questions.options(limit)...)...)
	answered()
	if err != nil {
		why := inWords(server, noPage(a.shown(server), cause(ctx, err)))
		return &unreachedError{fmt.Errorf("connecting to %s: %w%s%s", a.shown(server), why, otherPath(server, err), a.log.unseen())}
	}
	err = cause(ctx, body(ctx, c))
	// The exit status of the process is not an error of the command. It matters only if the process
	// ended before its last answer.
	ended := c.Close()
	a.log.finish()
	if ended != nil && errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w (%w)", err, ended)
	}
	return err
}

// cause replaces "context canceled" by the cause of ctx.
func cause(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	// A question without an answer ends the session with its own reason, but the server's error for
	// the call may arrive first.
	if reason := context.Cause(ctx); errors.Is(err, ctx.Err()) || !errors.Is(reason, ctx.Err()) {
		return reason
	}
	return err
}

func join[T fmt.Stringer](items []T) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = item.String()
	}
	return strings.Join(texts, ", ")
}

// lookPath is like exec.LookPath, but does not find a program for the path of a directory. For the
// directory ./weather, Windows would run weather.exe.
func lookPath(word string) (string, error) {
	if info, err := os.Stat(word); err == nil && info.IsDir() && filepath.Base(word) != word {
		return "", exec.ErrNotFound
	}
	return exec.LookPath(word)
}

// inPlace returns a file in this directory as a path that is not looked up in PATH. It returns other words
// unchanged. On Windows, the word may lack the extension of the file.
func inPlace(word string) string {
	info, err := os.Stat(word)
	if found, dot := exec.LookPath(word); err != nil && errors.Is(dot, exec.ErrDot) && filepath.Dir(found) == "." {
		return "." + string(filepath.Separator) + word
	}
	if err != nil || !info.Mode().IsRegular() || filepath.Ext(word) == ".go" || strings.ContainsRune(word, filepath.Separator) {
		return word
	}
	return "." + string(filepath.Separator) + word
}

// program returns the server's command, which has not been started. cleanup removes the program
// that was built.
//
// The command does not use ctx. The client first closes the server's stdin, and kills only a server
// that does not end then (2026-07-28 basic/transports/stdio, shutdown).
func (a *cli) program(ctx context.Context, server []string) (cmd *exec.Cmd, cleanup func(), err error) {
	path := server[0]
	info, statErr := os.Stat(path)
	isFile := statErr == nil && info.Mode().IsRegular() && filepath.Ext(path) != ".go"
	path = inPlace(path)
	_, pathErr := lookPath(path)
	if len(server) > 1 || isFile || pathErr == nil {
		cmd := a.process(path, server[1:]...)
		cmd.Dir = a.serverDir
		return cmd, func() {}, nil
	}
	if binary := a.built[path]; binary != "" {
		return a.process(binary), func() {}, nil
	}
	if err := looksLikeURL(path); statErr != nil && err != nil {
		return nil, nil, err
	}
	if errors.Is(statErr, fs.ErrNotExist) && (filepath.IsAbs(path) || strings.HasPrefix(path, ".")) {
		return nil, nil, fmt.Errorf("no server at %s: want a Go package or a program", path)
	}
	dir, err := os.MkdirTemp("", "kagami-")
	if err != nil {
		return nil, nil, err
	}
	cleanup = func() { _ = removeAll(dir) } // the directory is temporary
	binary, err := a.build(ctx, path, dir)
	if err == nil && a.built != nil {
		a.built[path] = binary
		cleanup = func() {}
	}
	if err != nil && statErr != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w\n%q is not a file and not a program in PATH, so kagami used it as the import path of a Go package%s", err, path, nearServers(path))
	}
	if err != nil {
		cleanup()
		return nil, nil, err
	}
	return a.process(binary), cleanup, nil
}

// storeInMemory makes package serve use a store in memory instead of the program's own. A server
// runs the tasks that wait in its store, and a command that only looks must not make it do so. It has
// no effect on a program that opens its store itself, or has other names of variables (serve.Env).
const storeInMemory = "KAGAMI_STORE=memory:"

// ownStores begin the URLs of stores that package serve knows.
var ownStores = []string{"file:", "redis:", "rediss:", "unix:"}

// process returns the command that starts a program of the server. Like program, it does not use a
// context.
func (a *cli) process(path string, args ...string) *exec.Cmd {
	store := settingOf("store", args, nil) // a flag has precedence over the environment
	if a.looks && slices.ContainsFunc(ownStores, func(scheme string) bool { return strings.HasPrefix(store, scheme) }) {
		args = append(slices.Clip(args), "--store", "memory:")
	}
	cmd := exec.Command(path, args...) //nolint:noctx // see above
	environment := slices.Clip(a.serverEnv)
	if a.looks {
		environment = append(environment, storeInMemory)
	}
	useCmdExe(cmd)
	group.Set(cmd) // the server may be a child of the program, as with npx
	if len(environment) > 0 {
		cmd.Env = append(os.Environ(), environment...)
	}
	return cmd
}

// notice prints a text when the time after has passed, unless end is called before. Nothing is printed
// after end has returned.
func (a *cli) notice(after time.Duration, text string) (end func()) {
	told := make(chan struct{})
	timer := time.AfterFunc(after, func() {
		defer close(told)
		_, _ = fmt.Fprintf(a.errs, "kagami: %s\n", text)
	})
	return func() {
		if !timer.Stop() {
			<-told
		}
	}
}

// build compiles a main package. It runs in the package's directory, because that may belong to
// another module.
func (a *cli) build(ctx context.Context, pkg, dir string) (string, error) {
	defer a.notice(buildNotice, "building "+pkg)()
	// The separator at the end makes go refuse packages that are not programs.
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", dir+string(filepath.Separator))
	if info, err := os.Stat(pkg); err == nil && info.IsDir() {
		cmd.Dir = pkg
		pkg = "."
	}
	cmd.Args = append(cmd.Args, pkg)
	cmd.Env = append(cmd.Environ(), a.goEnv...)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("building the server: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	built, err := os.ReadDir(dir)
	if err != nil || len(built) != 1 {
		return "", fmt.Errorf("building the server: want one program, got %d", len(built))
	}
	return filepath.Join(dir, built[0].Name()), nil
}
