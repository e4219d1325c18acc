package serve

import (
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

// Main is Run with os.Args[1:] and SIGINT/SIGTERM. It writes an error to stderr, sets the
// exit code ([ExitCode]) and does not return. It never touches flag.CommandLine. If nobody
// reads the log any more, writing to it does not kill the program by SIGPIPE: it shuts down
// in order when its client dies.
//
// Unless GOGC or GOMEMLIMIT is set in the environment, the heap may grow to 32 MB before it
// is collected. That costs a small server that much memory under load, and saves it a fifth
// of its CPU time (ADR 16).
func Main(app *framework.App, opts ...Option) {
	os.Exit(program(app, os.Args[1:], opts))
}

func program(app *framework.App, args []string, opts []Option) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // Main is the main function of a program
	defer stop()
	// From now on a second signal has its default effect: the process ends.
	context.AfterFunc(ctx, stop)
	keepRoomy(ctx)
	err := Run(ctx, app, args, append(slices.Clip(opts), asProgram)...)
	if err != nil {
		_, _ = fmt.Fprintf(configured(opts).errs, "%s: %v\n", programName(), err)
	}
	return ExitCode(err)
}

// Run builds the app and serves it as the flags say (--stdio, --http and others: --help lists
// them, as does docs/config.md), until ctx ends. It is for programs with flags, configuration or
// defers of their own. Both carriers may be served at
// once; then the end of stdin ends only stdio.
//
// With --page a browser on this machine can look into the server (package page): the address,
// with a key for one use, is printed on the error output. The page ends with the carrier.
//
// Whoever opens a store closes it: Run closes that of --store; the program closes that of
// [framework.WithStore] when Run has returned, or in App.OnStop under Main, which does not
// return. With --store the app keeps the closed store: use another app for another Run.
//
// With --inspect=json the report of a faulty app is written to stdout as JSON, too (see [framework.BuildError.MarshalJSON]).
//
// The error is a [*UsageError] for flags that do not exist or do not fit together, a
// [*framework.BuildError] for a faulty app, and otherwise that of the carrier or of a hook.
// It is nil if ctx ended or the client closed stdin. A nil app is an error.
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
		// Done here and not in the carrier, since output of OnStart and OnStop belongs neither
		// to the protocol nor to an inspection.
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
		return usagef("--worker needs the store in which servers leave their tasks: --store redis://HOST:PORT/DB")
	}
	_, _ = fmt.Fprintf(s.errs, "%s runs the tasks of its store\n", programName())
	return server.Serve(ctx, worker)
}

// ExitCode returns the process exit code for an error of Run: 0 for nil, 2 for mistakes
// that a restart cannot cure (usage, a faulty app), else 1.
func ExitCode(err error) int {
	var usage *UsageError
	var build *framework.BuildError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage), errors.As(err, &build):
		return exitUsage
	}
	return exitFailure
}

// Option configures Main and Run. Sealed.
type Option interface{ option(*settings) }

type optionFunc func(*settings)

func (f optionFunc) option(s *settings) { f(s) }

// HTTP passes options to the carrier behind --http: origins, hosts, TLS, limits.
func HTTP(opts ...fiberhttp.Option) Option {
	return optionFunc(func(s *settings) { s.http = append(s.http, opts...) })
}

// Landing sets what the landing page says about the server: the page that a browser gets from
// --http, at / and at the endpoint. It lists nothing that the server offers, since anybody can
// read it.
func Landing(text string) Option { return HTTP(fiberhttp.Landing(text)) }

// NoLanding leaves the landing page out.
func NoLanding() Option { return HTTP(fiberhttp.NoLanding()) }

// Stdio wraps the carrier behind --stdio. Credentials on stdio come from the environment
// (2025-11-25 basic/authorization "Protocol Requirements"):
//
//	serve.Main(app, serve.Stdio(auth.Env("SHOP_TOKEN", guard)))
func Stdio(wrap func(transport.Transport) transport.Transport) Option {
	return optionFunc(func(s *settings) {
		if wrap != nil {
			s.wraps = append(s.wraps, wrap)
		}
	})
}

// asProgram says that the process belongs to this server.
var asProgram = optionFunc(func(s *settings) { s.program = true })

// Env sets the prefix of the environment variables that stand for flags; default "KAGAMI". The
// rest is the name of the flag: KAGAMI_HTTP, KAGAMI_ALLOW_HOST. A flag takes precedence. An empty prefix switches them off.
func Env(prefix string) Option {
	return optionFunc(func(s *settings) { s.prefix = prefix })
}

// Streams replaces os.Stdin, os.Stdout and os.Stderr. The server then speaks on in and out
// without guarding the process's own stdout. A nil in is empty; what is written to a nil
// out or errs is discarded.
func Streams(in io.Reader, out, errs io.Writer) Option {
	if in == nil {
		in = strings.NewReader("")
	}
	if out == nil {
		out = io.Discard
	}
	if errs == nil {
		errs = io.Discard
	}
	return optionFunc(func(s *settings) { s.in, s.out, s.errs, s.own = in, out, errs, true })
}

// settings are the defaults, changed by the options.
type settings struct {
	prefix    string
	in        io.Reader
	frames    io.Reader // what was the standard input, once it is guarded; nil: in
	out, errs io.Writer
	own       bool // the program has chosen the streams
	program   bool // Main runs it
	http      []fiberhttp.Option
	wraps     []func(transport.Transport) transport.Transport // of stdio
	endpoint  chan string                                     // of --http, for the page; nil: not served
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
		t := stdio.New(stdio.Streams(s.input(), s.out))
		if f.page.on && f.http == "" { // within the wraps: what they know of the caller holds for the page
			t = s.paged(f, t, server)
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
		if f.page.on {
			s.endpoint = make(chan string, 1)
			own = append(own, fiberhttp.OnEndpoint(func(at string) { s.endpoint <- at }))
		}
		t := fiberhttp.New(f.http, append(own, s.http...)...)
		if f.page.on {
			t = s.paged(f, t, server)
		}
		all = append(all, t)
	}
	return all
}

// input is where a client on stdio writes.
func (s *settings) input() io.Reader {
	if s.frames != nil {
		return s.frames
	}
	return s.in
}

// greet tells a person who has started the server by hand what it waits for.
func (s *settings) greet() {
	if in, ok := s.in.(*os.File); !ok || !isTerminal(in) {
		return
	}
	_, _ = fmt.Fprintf(s.errs, `%[1]s speaks MCP on stdin and stdout, one JSON-RPC message a line, and waits for a client.
Try it from another terminal: kagami call --cmd %[2]s TOOL key=value
See what it offers: %[2]s --inspect, or in a browser: %[2]s --page
`, programName(), os.Args[0])
}

// isTerminal says that a person may be typing. The null device is a character device, too, but
// nobody types there.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

func programName() string { return filepath.Base(os.Args[0]) }
