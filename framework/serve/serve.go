package serve

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/mattn/go-isatty"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/internal/sigpipe"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

// Exit codes of Main.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// Main calls Run with os.Args[1:] and a context that SIGINT and SIGTERM end, and on stdio also
// SIGHUP. It writes an error to stderr, exits with the code of [ExitCode], and does not return. It
// never uses flag.CommandLine. If the reader of the log has gone, writing to it does not kill the
// program by SIGPIPE; the program shuts down in order when its client ends.
//
// Unless GOGC or GOMEMLIMIT is set in the environment, the heap may grow to 16 MB before it is
// collected, which saves CPU time under load. A program that becomes idle returns unused memory to
// the operating system (ADR 16).
func Main(app *framework.App, opts ...Option) {
	os.Exit(program(app, os.Args[1:], opts))
}

func program(app *framework.App, args []string, opts []Option) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // Main is the main function of a program
	defer stop()
	// From now on a second signal has its default effect: it ends the process.
	context.AfterFunc(ctx, stop)
	keepRoomy(ctx)
	err := Run(ctx, app, args, append(slices.Clip(opts), asProgram)...)
	if err != nil {
		_, _ = fmt.Fprintf(configured(opts).errs, "%s: %v\n", programName(), err)
	}
	return ExitCode(err)
}

// Run builds the app and serves it according to the flags, until ctx ends. The flags are listed by
// --help and in docs/config.md. Run is for programs with their own flags, configuration or defers.
// Unlike Main, it handles no signals and prints no error. If stdio and HTTP are both served, the end
// of stdin ends only stdio.
//
// With --page a browser on this machine can inspect the server (package page). The address, with a
// key for one use, is printed on the error output. The page ends with the transport.
//
// The opener of a store closes it. Run closes the store of --store. The program closes the store of
// [framework.WithStore] after Run has returned; under Main, which does not return, it does so in
// App.OnStop. With --store the app keeps the closed store, and with --inspect and --version it loses
// its store, so use another app for another Run.
//
// With --inspect=json, the report of a faulty app is also written to stdout as JSON (see
// [framework.BuildError.MarshalJSON]).
//
// If the flags are invalid, Run returns a [*UsageError]. If the app is faulty, it returns a
// [*framework.BuildError]. Otherwise it returns the error of the transport or of a hook. If ctx
// ended or the client closed stdin, Run returns nil. A nil app is an error.
func Run(ctx context.Context, app *framework.App, args []string, opts ...Option) error {
	s := configured(opts)
	f, err := s.parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return s.help()
	}
	if err != nil {
		return err
	}
	if f.health {
		return f.ask(ctx)
	}
	if app == nil {
		return errors.New("serve: no app")
	}
	if s.program && !f.looks() {
		sigpipe.Catch()
		if f.stdio && !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
			hangUp, stop := signal.NotifyContext(ctx, syscall.SIGHUP) // a terminal that is closed may send it several times
			defer stop()
			ctx = hangUp
		}
	}
	if f.looks() {
		app.UseStore(nil) // what only looks must not run tasks of the store
	}
	if f.store == "" || f.looks() {
		return s.run(ctx, app, f)
	}
	store, err := open(ctx, f.store)
	if err != nil {
		return err
	}
	app.UseStore(store)
	return errors.Join(s.run(ctx, app, f), store.Close())
}

func (s *settings) run(ctx context.Context, app *framework.App, f *flags) error {
	if !s.own && (f.stdio || f.looks()) {
		// Guarded here and not in the transport, because output of OnStart and OnStop belongs
		// neither to the protocol nor to an inspection.
		out, restore, err := stdio.GuardStdout()
		if err != nil {
			return fmt.Errorf("guarding the standard output: %w", err)
		}
		defer restore()
		s.out = out
	}
	if !s.own && f.stdio {
		in, restore, err := stdio.GuardStdin()
		if err != nil {
			return fmt.Errorf("guarding the standard input: %w", err)
		}
		defer restore()
		s.frames = in
	}
	s.log(app, f)
	server, err := app.Build()
	if err != nil {
		return s.broken(err, f)
	}
	if f.looks() {
		return s.show(ctx, server, f)
	}
	err = s.serve(ctx, server, f)
	if ExitCode(err) == exitFailure && s.program && !isatty.IsTerminal(os.Stderr.Fd()) { // on a terminal, the line that program prints is enough
		server.Logger().Error("the server has ended", zap.Error(err))
	}
	return err
}

func (s *settings) serve(ctx context.Context, server *framework.Server, f *flags) error {
	if err := f.strictly(server); err != nil {
		return err
	}
	if f.worker {
		return s.work(ctx, server)
	}
	flagged, err := f.httpOptions()
	if err != nil {
		return err
	}
	s.http = append(s.http, flagged...)
	return server.Serve(ctx, s.carriers(f, server)...)
}

func (s *settings) work(ctx context.Context, server *framework.Server) error {
	worker, err := server.Worker()
	if err != nil {
		return usagef("--worker: %v", err)
	}
	_, _ = fmt.Fprintf(s.errs, "%s runs the tasks of its store\n", programName())
	return server.Serve(ctx, worker)
}

// ExitCode returns the process exit code for an error of Run. The code is 0 for nil, 2 for mistakes
// that a restart cannot correct (usage, a faulty app), and 1 otherwise.
func ExitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if errors.As(err, new(*UsageError)) || errors.As(err, new(*framework.BuildError)) {
		return exitUsage
	}
	return exitFailure
}

// Option configures Main and Run. Other packages cannot implement it.
type Option interface{ option(*settings) }

type optionFunc func(*settings)

func (f optionFunc) option(s *settings) { f(s) }

// HTTP passes options to the transport of --http: origins, hosts, TLS, limits.
func HTTP(opts ...fiberhttp.Option) Option {
	opts = slices.Clone(opts)
	return optionFunc(func(s *settings) { s.http = append(s.http, opts...) })
}

// Landing sets the text about the server on the landing page. A browser gets this page from --http,
// at / and at the endpoint. It does not list what the server offers, because anyone can read it.
func Landing(text string) Option { return HTTP(fiberhttp.Landing(text)) }

// NoLanding disables the landing page.
func NoLanding() Option { return HTTP(fiberhttp.NoLanding()) }

// Stdio wraps the transport of stdio. Credentials on stdio come from the environment (2025-11-25
// basic/authorization "Protocol Requirements"):
//
//	serve.Main(app, serve.Stdio(auth.Env("SHOP_TOKEN", guard)))
func Stdio(wrap func(transport.Transport) transport.Transport) Option {
	return optionFunc(func(s *settings) {
		if wrap != nil {
			s.wraps = append(s.wraps, wrap)
		}
	})
}

// asProgram is the option that Main adds: the process belongs to this server.
var asProgram = optionFunc(func(s *settings) { s.program = true })

// Env sets the prefix of the environment variables for flags; the default is "KAGAMI". The rest of
// a variable's name is the name of the flag: KAGAMI_HTTP, KAGAMI_ALLOW_HOST. A flag takes
// precedence. An empty prefix disables the variables.
func Env(prefix string) Option {
	return optionFunc(func(s *settings) { s.prefix = prefix })
}

// Streams replaces os.Stdin, os.Stdout and os.Stderr. The server then uses in and out for the
// protocol and does not guard the process's own stdout. A nil in is empty. Output to a nil out or
// errs is discarded.
func Streams(in io.Reader, out, errs io.Writer) Option {
	in, out = cmp.Or[io.Reader](in, strings.NewReader("")), cmp.Or(out, io.Discard)
	errs = zapcore.Lock(zapcore.AddSync(cmp.Or(errs, io.Discard))) // the log and the carriers write to it
	return optionFunc(func(s *settings) { s.in, s.out, s.errs, s.own = in, out, errs, true })
}

// settings holds the defaults and the changes by the options.
type settings struct {
	prefix    string
	in        io.Reader
	frames    io.Reader // the real standard input after it is guarded; nil to use in
	out, errs io.Writer
	own       bool // the option Streams was given
	program   bool // set by Main
	http      []fiberhttp.Option
	wraps     []func(transport.Transport) transport.Transport // wraps of stdio
	endpoint  chan string                                     // URL of the endpoint, for the page; nil without --http and --page
}

func configured(opts []Option) *settings {
	s := &settings{prefix: "KAGAMI", in: os.Stdin, out: os.Stdout, errs: os.Stderr}
	for _, o := range opts {
		if o != nil {
			o.option(s)
		}
	}
	return s
}

func (s *settings) carriers(f *flags, server *framework.Server) []transport.Transport {
	var all []transport.Transport
	if f.stdio {
		s.greet()
		t := stdio.New(stdio.Streams(cmp.Or(s.frames, s.in), s.out))
		if f.page != "" && f.http == "" { // inside the wraps, so that their caller applies to the page
			t = &paged{t, s, f.page, server}
		}
		for _, wrap := range s.wraps {
			t = wrap(t)
		}
		all = append(all, t)
	}
	if f.http != "" {
		tell := fiberhttp.OnListen(func(addr net.Addr) {
			_, _ = fmt.Fprintf(s.errs, "%s%s serves MCP over HTTP on %s\n", f.reach(addr), programName(), addr)
		})
		own := []fiberhttp.Option{tell}
		if f.page != "" {
			s.endpoint = make(chan string, 1)
			own = append(own, fiberhttp.OnEndpoint(func(at string) { s.endpoint <- at }))
		}
		t := fiberhttp.New(f.http, append(own, s.http...)...)
		if f.page != "" {
			t = &paged{t, s, f.page, server}
		}
		all = append(all, t)
	}
	return all
}

// greet prints a hint for a person who has started the server in a terminal.
func (s *settings) greet() {
	if in, ok := s.in.(*os.File); !ok || !isTerminal(in) {
		return
	}
	_, _ = fmt.Fprintf(s.errs, `%[1]s speaks MCP on stdin and stdout, one JSON-RPC message a line, and waits for a client.
Try it from another terminal: kagami call --cmd %[2]s TOOL key=value
See what it offers: %[2]s --inspect, or in a browser: %[2]s --page
`, programName(), os.Args[0])
}

// isTerminal reports whether f is a terminal. It does not call f.Fd, because Close could then no
// longer interrupt a waiting read.
func isTerminal(f *os.File) (is bool) {
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { is = isatty.IsTerminal(fd) })
	}
	return is
}

func programName() string { return filepath.Base(os.Args[0]) }
