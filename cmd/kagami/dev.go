package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/kagami-mcp/kagami/cmd/kagami/internal/bridge"
	"github.com/kagami-mcp/kagami/framework/serve/surface/contract"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

func (a *cli) devCommand() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use: "dev PACKAGE", Short: "Serve a Go package, and rebuild it when its source changes",
		Long: `Serve a Go package on stdin and stdout, and rebuild it when its source changes. Use this as
the command of the server in a client's configuration while you work on the server.

The client's session continues with its subscriptions and its log level. The old process
finishes the calls that it has begun. If the API has changed, the client is notified, and
stderr shows the changes as "kagami diff" does. While the code does not compile, or the
server does not start, calls return the reason as a tool error. If the first build fails or
takes long, the client sees one tool, kagami_dev, which returns the reason.

With --http it serves clients on this machine over HTTP. The server must be a program of
serve.Main. If it imports boltstore, its sessions and tasks are in a temporary file until dev
ends, and not in the store of KAGAMI_STORE. Requests wait while the process is replaced.
The old process then has 10 seconds for the calls that it has begun.

A new process does not have the memory of the old one, so keep lasting data in a store. On
stdin and stdout this must be a store that two processes can open, such as Redis: the next
process starts before the old one ends. A task of an old process is found again only in such
a store.`,
		Example: `  kagami dev ./cmd/server --http :8080
  kagami install --client cursor --name notes -- kagami dev ./cmd/server
  kagami page -- kagami dev ./cmd/server`,
		RunE: func(cmd *cobra.Command, args []string) error {
			server, _, err := a.arguments(cmd, args)
			if err != nil {
				return err
			}
			if err := followable(server); err != nil {
				return err
			}
			if store := settingOf("store", nil, os.Environ()); address == "" && strings.HasPrefix(store, "file:") {
				return usagef("KAGAMI_STORE=%s: only one process can open it, and dev starts the next one before the last one ends: use --http, or redis://HOST:PORT/DB", store)
			}
			return a.dev(cmd.Context(), server[0], address)
		},
	}
	cmd.Flags().StringVar(&address, "http", "", "serve on HTTP at this `ADDR` of this machine, such as :8080")
	a.completes(cmd, nil)
	return cmd
}

// followable returns an error if the server is not a Go package.
func followable(server []string) error {
	if !isPackage(server) || isURL(server[0]) {
		return usagef("dev needs a Go package, and %s is not one", shownServer(server))
	}
	_, err := os.Stat(server[0])
	if local := filepath.IsAbs(server[0]) || strings.HasPrefix(server[0], "."); local && err != nil {
		return usagef("there is no Go package in %s", server[0])
	}
	return nil
}

// dev serves until the client closes stdin. Over HTTP it serves until ctx ends.
func (a *cli) dev(ctx context.Context, pkg, address string) error {
	if address != "" { // on stdio, a signal of the terminal reaches the process
		defer killOnSecondSignal(ctx)()
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	dir, err := os.MkdirTemp("", "kagami-dev-")
	if err != nil {
		return err
	}
	defer func() { _ = removeAll(dir) }()
	d := &developer{cli: a, pkg: pkg, dir: dir}
	if address == "" {
		d.late = time.After(standInAfter)
	}
	serve, err := d.front(address)
	if err != nil {
		return err
	}
	if d.source, err = watch(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.follow(ctx)
	}()
	err = serve(ctx)
	stop()
	<-ended
	d.bridge.Close()
	return errors.Join(err, d.source.Close())
}

// front serves the clients of dev. It is a bridge or a proxy.
type front interface {
	Replace(ctx context.Context, cmd *exec.Cmd, changed ...string) error
	Break(text string)
	Gone() <-chan struct{}
	Close()
}

// front sets d.bridge, and returns the function that serves the client.
func (d *developer) front(address string) (serve func(context.Context) error, err error) {
	if address == "" {
		if in, ok := d.cli.in.(*os.File); ok && isatty.IsTerminal(in.Fd()) {
			d.cli.say("dev serves MCP on stdin and stdout, and is waiting for a client; put this command into the client's configuration, or use --http :8080")
		}
		b := bridge.New(d.cli.out)
		d.bridge = b
		return func(ctx context.Context) error { return b.Serve(ctx, d.cli.in) }, nil
	}
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || host != "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, usagef("--http %q: dev serves only this machine: want :PORT", address)
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port))
	if err != nil {
		return nil, err
	}
	proxy := bridge.NewProxy()
	d.bridge, d.store = proxy, "file:"+filepath.Join(d.dir, "state.db")
	d.cli.say("clients connect to http://%s/mcp", listener.Addr())
	return func(ctx context.Context) error {
		server := &http.Server{Handler: proxy, ReadHeaderTimeout: patience, BaseContext: func(net.Listener) context.Context { return ctx }}
		context.AfterFunc(ctx, func() { _ = server.Close() })
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}, nil
}

// developer is one run of dev.
type developer struct {
	cli    *cli
	pkg    string
	dir    string // directory for binaries
	store  string // URL of the store that each process leaves to the next; "" on stdio
	told   bool   // the user knows that processes have no common store
	built  int
	bridge front
	source *watcher
	late   <-chan time.Time // when a stand-in serves the client on stdin; nil: a process serves, or HTTP
	stood  bool             // a stand-in serves
	old    []string         // directories of earlier binaries
	last   string           // binary of the process that serves; "": none
	lock   *contract.Lock   // API of that binary; nil if unknown
	since  time.Time        // start of that process
}

// crashPause is the shortest life of a process that is started again after it has ended by itself.
const crashPause = time.Second

// follow builds and replaces the server whenever its source changes. It also starts a process again
// that has ended by itself.
func (d *developer) follow(ctx context.Context) {
	d.renew(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.source.changed:
			d.renew(ctx)
		case <-d.bridge.Gone():
			if d.last == "" {
				continue // the stand-in has ended
			}
			if time.Since(d.since) < crashPause {
				d.fail(ctx, errors.New("the server ends at once; its log shows the cause"))
				continue
			}
			d.cli.say("the server has ended; starting it again")
			d.start(ctx, d.last, d.lock)
		}
	}
}

// renew builds the current source, checks it, and starts it.
func (d *developer) renew(ctx context.Context) {
	began := time.Now()
	d.built++
	dir := filepath.Join(d.dir, fmt.Sprint(d.built))
	built := make(chan build, 1)
	go func() { built <- d.build(ctx, dir) }()
	var b build
	select {
	case b = <-built:
	case <-d.late:
		d.standIn(ctx)
		b = <-built
	}
	if b.err != nil {
		d.fail(ctx, b.err)
	}
	if b.err != nil || !d.start(ctx, b.binary, b.lock) {
		_ = removeAll(dir) // a binary of 20 MB for each mistake
		return
	}
	d.cli.say("serving %s, built in %s", d.pkg, time.Since(began).Round(10*time.Millisecond))
}

// build is the result of a build: a binary of the server with its API, or an error.
type build struct {
	binary string
	lock   *contract.Lock
	err    error
}

// build follows the source, builds the server in dir, and checks it.
func (d *developer) build(ctx context.Context, dir string) (b build) {
	if err := d.source.follow(ctx, d.pkg); err != nil && ctx.Err() == nil {
		d.cli.say("the source cannot be watched: %v", err)
	}
	if b.err = os.MkdirAll(dir, 0o700); b.err != nil { // a cleaner of temporary files may have removed d.dir
		return b
	}
	if b.binary, b.err = d.cli.build(ctx, d.pkg, dir); b.err != nil {
		return b
	}
	b.lock, b.err = d.check(ctx, b.binary)
	return b
}

// check starts the binary once, and returns the API of the server.
func (d *developer) check(ctx context.Context, binary string) (*contract.Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, inspectPatience)
	defer cancel()
	program := exec.Command(binary) //nolint:noctx // the client ends the process
	program.Env = append(os.Environ(), storeInMemory)
	log := &serverLog{keep: keptReport}
	program.Stderr = log
	// Unlike client.Command, this starts the program once, so that a server that fails reports it once.
	once := client.Over(func(ctx context.Context) (transport.Conn, error) { return stdio.Dial(ctx, program) })
	c, err := client.Connect(ctx, once, client.Name("kagami dev", version()))
	if report := log.unseen(); err != nil && report != "" {
		return nil, fmt.Errorf("the server does not start:%s", report)
	} else if err != nil {
		return nil, fmt.Errorf("the server does not start: %w", err)
	}
	lock, err := contract.Read(ctx, c)
	_ = c.Close() // the exit status of the process does not matter
	if err != nil {
		return nil, fmt.Errorf("the server does not list what it offers: %w%s", err, log.unseen())
	}
	return lock, nil
}

// start replaces the serving process by a process of the binary.
func (d *developer) start(ctx context.Context, binary string, lock *contract.Lock) bool {
	program := exec.Command(binary) //nolint:noctx // the bridge ends the process
	program.Stderr = d.cli.newServerLog()
	if d.keeps(binary) {
		program.Args = append(program.Args, "--store", d.store)
	}
	var changes []contract.Change
	if d.lock != nil {
		changes = contract.Diff(d.lock, lock)
	}
	changed := lists(changes)
	if d.stood { // the client has the lists of the stand-in
		changed = []string{protocol.NotificationToolsChanged, protocol.NotificationResourcesChanged, protocol.NotificationPromptsChanged}
	}
	if err := d.bridge.Replace(ctx, program, changed...); err != nil {
		d.fail(ctx, err)
		return false
	}
	d.late, d.stood = nil, false
	for _, change := range changes {
		d.cli.say("%s", change)
	}
	if d.last != "" && d.last != binary {
		d.old = append(d.old, filepath.Dir(d.last))
	}
	// An old process may still run. On Windows, its file can be removed only later.
	d.old = slices.DeleteFunc(d.old, func(dir string) bool { return os.RemoveAll(dir) == nil })
	d.last, d.lock, d.since = binary, lock, time.Now()
	return true
}

// keeps reports whether a program can leave its sessions to the next process. It can over HTTP if
// it contains the store in a file.
func (d *developer) keeps(binary string) bool {
	if d.store == "" {
		return false
	}
	if hasModule(binary, "go.etcd.io/bbolt") {
		return true
	}
	if !d.told {
		d.told = true
		d.cli.say("sessions end with each change; to keep them, add to the main package:\n  import _ \"github.com/kagami-mcp/kagami/framework/store/boltstore\"")
	}
	return false
}

// fail reports in the terminal and to callers why there is no new server.
func (d *developer) fail(ctx context.Context, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	d.cli.say("%v", err)
	d.standIn(ctx)
	d.bridge.Break(fmt.Sprintf("kagami dev: %v\nThe server continues when this is fixed.", err))
}

// lists returns the methods of the notifications for the lists that have changed.
func lists(changes []contract.Change) []string {
	var methods []string
	for _, l := range []struct{ kind, method string }{
		{"tool ", protocol.NotificationToolsChanged},
		{"resource ", protocol.NotificationResourcesChanged},
		{"template ", protocol.NotificationResourcesChanged},
		{"prompt ", protocol.NotificationPromptsChanged},
	} {
		if slices.ContainsFunc(changes, func(c contract.Change) bool { return strings.HasPrefix(c.Where, l.kind) }) {
			methods = append(methods, l.method)
		}
	}
	return slices.Compact(methods)
}
