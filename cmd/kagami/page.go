package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/kagami-mcp/kagami/cmd/kagami/internal/group"
	"github.com/kagami-mcp/kagami/framework/serve/page"
	"github.com/kagami-mcp/kagami/protocol/client/oauth"
)

func (a *cli) pageCommand() *cobra.Command {
	var listen, file string
	var noOpen bool
	cmd := &cobra.Command{
		Use:   "page SERVER",
		Short: "Look into a server with a browser",
		Long: `Look into a server with a browser. The page shows what the server offers, a form for each
tool, the questions of a call, and every message. It is only for this machine, and its
address contains a key that works once. When the page starts a Go package again, it is
built again.

With --open the page shows a session that was saved from another page, without a server.`,
		Example: `  kagami page ./examples/weather
  kagami page -- npx -y @modelcontextprotocol/server-everything
  kagami page https://mcp.example.com/mcp --bearer "$TOKEN"
  kagami page --open session.kagami.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := page.LoopbackAddress(listen); err != nil {
				return usagef("--listen: %w", err)
			}
			if file != "" {
				return a.pageOfFile(cmd.Context(), file, args, listen, !noOpen)
			}
			server, _, err := a.arguments(cmd, args)
			if err != nil {
				return err
			}
			return a.page(cmd.Context(), server, listen, !noOpen)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "`ADDR` of the page, on this machine; port 0 selects a free port")
	cmd.Flags().StringVar(&file, "open", "", "show the saved session in `FILE` instead of a server")
	cmd.Flags().BoolVar(&noOpen, "no-open", false, "only print the address")
	a.completes(cmd, nil)
	return cmd
}

// page serves the page until the command is stopped.
func (a *cli) page(ctx context.Context, server []string, listen string, open bool) error {
	o, cleanup, err := a.pageOptions(ctx, server)
	if err != nil {
		return err
	}
	defer cleanup()
	shown, err := page.New(o)
	if err != nil {
		return err
	}
	return a.servePage(ctx, shown, listen, open)
}

// pageOfFile shows a saved session.
func (a *cli) pageOfFile(ctx context.Context, name string, args []string, listen string, open bool) error {
	if len(args) > 0 {
		return usagef("--open shows a file: leave SERVER out")
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	shown, err := page.Open(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return a.servePage(ctx, shown, listen, open)
}

// servePage serves the page until ctx ends, and opens a browser if the user has a terminal.
func (a *cli) servePage(ctx context.Context, shown *page.Page, listen string, open bool) error {
	opened := ""
	defer func() { _ = os.RemoveAll(opened) }()
	return shown.Serve(ctx, listen, func(address string) {
		_, _ = fmt.Fprintf(a.errs, "kagami: the page is at\n  %s\nThe key in it works once, within 10 minutes. Stop with Ctrl-C.\n", address)
		if open && isatty.IsTerminal(os.Stderr.Fd()) {
			dir, err := openBrowser(ctx, address)
			if opened = dir; err != nil {
				_, _ = fmt.Fprintf(a.errs, "kagami: no browser was opened: %v\n", err)
				return
			}
			// The browser of a snap has another directory for temporary files.
			_, _ = fmt.Fprint(a.errs, "A browser opens it. If it does not find its file, open the address yourself.\n")
		}
	})
}

// pageOptions returns options that name the server. cleanup removes the programs that were built.
func (a *cli) pageOptions(ctx context.Context, server []string) (o page.Options, cleanup func(), err error) {
	o = page.Options{Client: version(), Where: cmp.Or(a.serverName, strings.Join(server, " "))}
	if o.Revision, err = a.onlyRevision(); err != nil {
		return o, nil, err
	}
	if remote(server) {
		fields, err := a.fields()
		if err != nil {
			return o, nil, err
		}
		o.URL, o.Where, o.Header, o.Bearer = server[0], "", fields, a.token()
		if o.Bearer == "" && fields.Get("Authorization") == "" {
			o.Authorize, err = a.login(ctx, server[0], oauth.HTTPClient(http.DefaultClient)) // not the client of the page: it records requests
		}
		return o, func() {}, err
	}
	if len(a.headers) > 0 || a.bearer != "" {
		return o, nil, usagef("--header and --bearer are for servers at a URL")
	}
	var mu sync.Mutex
	var made []func()
	o.Start = startOf(a.serverDir, server)
	o.Command = func(ctx context.Context) (*exec.Cmd, error) {
		program, cleanup, err := a.program(ctx, server)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		made = append(made, cleanup)
		program.Stderr = a.newServerLog()
		return program, nil
	}
	return o, func() {
		mu.Lock()
		defer mu.Unlock()
		for _, remove := range made {
			remove() // it is in the directory for temporary files
		}
	}, nil
}

// startOf returns the command line that starts the server from any directory. dir is the one where
// kagami starts it. startOf returns nil for a Go package, because its program is temporary.
func startOf(dir string, server []string) []string {
	program, err := lookPath(inPlace(server[0]))
	if err != nil {
		return nil
	}
	if whole, err := filepath.Abs(program); err == nil {
		program = whole
	}
	command := []string{program}
	if isBatch(program, runtime.GOOS) && filepath.Base(server[0]) == server[0] {
		command = []string{"cmd", "/c", server[0]} // a client on Node cannot start npx.cmd itself
	}
	if slices.Contains(elsewhere, programName(program)) {
		return append(command, server[1:]...)
	}
	for _, arg := range server[1:] {
		command = append(command, wholePath(dir, arg))
	}
	return command
}

// elsewhere are programs with arguments that are paths in a container or on another machine.
var elsewhere = []string{"docker", "podman", "ssh", "kubectl"}

// wholePath makes an argument absolute if it is the path of a file, or of a directory that begins with
// a dot. A plain word is not taken for a path: it may also be a command or the name of a package.
func wholePath(dir, arg string) string {
	path := filepath.Join(dir, arg)
	info, err := os.Stat(path)
	if err != nil || filepath.IsAbs(arg) {
		return arg
	}
	named := info.Mode().IsRegular() && (filepath.Ext(arg) != "" || strings.ContainsRune(filepath.ToSlash(arg), '/'))
	if !named && !strings.HasPrefix(arg, ".") {
		return arg
	}
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return arg
}

// openBrowser opens the address through a file that only this user can read, because all users can
// see the arguments of a process. The caller removes dir in the end.
func openBrowser(ctx context.Context, address string) (dir string, err error) {
	if !seesBrowser() {
		return "", errors.New("its window would not be visible here")
	}
	dir, err = os.MkdirTemp("", "kagami-page-")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "open.html")
	text := fmt.Sprintf("<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=%s\">\n", html.EscapeString(address))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return dir, err
	}
	command := map[string][]string{"darwin": {"open", file}, "windows": {"rundll32", "url.dll,FileProtocolHandler", file}}[runtime.GOOS]
	if command == nil {
		command = []string{"xdg-open", file}
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return dir, errors.New("no program " + command[0])
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), command[0], command[1:]...)
	group.Set(cmd) // Ctrl-C for kagami must not end a browser that was started for the page
	if err := cmd.Start(); err != nil {
		return dir, err
	}
	return dir, cmd.Process.Release() // the browser outlives the page
}

// seesBrowser reports whether the user would see the window of a browser. A login (package oauth) has
// the same conditions.
func seesBrowser() bool {
	if os.Getenv("BROWSER") == "none" || os.Getenv("CI") != "" || os.Getenv("SSH_CONNECTION") != "" {
		return false
	}
	return runtime.GOOS == "darwin" || runtime.GOOS == "windows" || os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
}
