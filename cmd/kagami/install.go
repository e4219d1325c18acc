package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/kagami-mcp/kagami/framework/serve/clients"
)

// installFlags are the flags of install and uninstall.
type installFlags struct {
	client, name string
	env          []string
	login        clients.Login
	print, yes   bool
}

func (a *cli) installCommand() *cobra.Command {
	f := &installFlags{}
	cmd := &cobra.Command{
		Use:   "install SERVER --client CLIENT",
		Short: "Install a server in a client's configuration",
		Long: `Install a server in a client's configuration. kagami shows the change first; confirm it in
the terminal or with --yes. Comments and the order of the file stay. kagami does not change
an entry of the same name that it did not write.

CLIENT is claude-desktop, claude-code, cursor, vscode, codex, gemini, zed or windsurf. A Go
package is built first, in ~/.config/kagami.

If a server at a URL wants a login, the client itself logs in. Use --client-id, --scope and
--callback-port if the client was registered by hand at the authorization server.`,
		Example: `  kagami install ./examples/weather --client cursor
  kagami install https://mcp.example.com/mcp --client vscode --name shop
  kagami install ./server --client claude-desktop --env API_KEY=secret --print`,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.literal = true // a secret that stands in a variable is not written into a file
			server, _, err := a.arguments(cmd, args)
			if err != nil {
				return err
			}
			if a.serverDir != "" {
				return usagef("%s has a working directory (cwd), which not all clients know: give the command with absolute paths", a.serverName)
			}
			return a.install(cmd.Context(), f, server)
		},
	}
	f.common(cmd)
	cmd.Flags().StringVar(&f.name, "name", "", "`NAME` of the server in the client (default: the name of its program; at a URL: server)")
	cmd.Flags().StringArrayVar(&f.env, "env", nil, "`NAME=VALUE` for the server's environment; repeatable")
	cmd.Flags().StringVar(&f.login.ClientID, "client-id", "", "`ID` of the client at the authorization server")
	cmd.Flags().StringArrayVar(&f.login.Scopes, "scope", nil, "`SCOPE` that the client asks for; repeatable (default: what the server wants)")
	cmd.Flags().IntVar(&f.login.Port, "callback-port", 0, "`PORT` of the redirect URI on this machine (claude-code)")
	cmd.Flags().BoolVar(&f.print, "print", false, "only print the entry")
	return cmd
}

func (a *cli) uninstallCommand() *cobra.Command {
	f := &installFlags{}
	cmd := &cobra.Command{
		Use:   "uninstall NAME --client CLIENT",
		Short: "Uninstall a server from a client's configuration",
		Long:  "Uninstall a server from a client's configuration. An entry stays if kagami did not write it, or if it was changed later.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("want the NAME of one server")
			}
			f.name = args[0]
			return a.uninstall(cmd.Context(), f)
		},
	}
	f.common(cmd)
	return cmd
}

func (f *installFlags) common(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.client, "client", "", "the `CLIENT` whose configuration to change")
	completesFlag(cmd, "client", clientNames()...)
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
}

func (a *cli) install(ctx context.Context, f *installFlags, server []string) error {
	client, err := clientNamed(f.client)
	if err != nil {
		return err
	}
	dirs, err := userDirectories()
	if err != nil {
		return err
	}
	r, err := a.registration(ctx, f, server, dirs)
	if err != nil {
		return err
	}
	if err := fits(client, r); err != nil {
		return err
	}
	if f.print {
		_, err := fmt.Fprint(a.out, client.Text(r))
		return err
	}
	file, err := dirs.open(client)
	if err != nil {
		return err
	}
	installed, err := dirs.installed()
	if err != nil {
		return err
	}
	written, err := file.mine(r.Name, installed[client.Name][r.Name])
	if err == nil && f.name == "" {
		err = file.another(r)
	}
	if err != nil {
		return err
	}
	text, entry, err := file.with(r, written)
	if err != nil {
		return err
	}
	if bytes.Equal(text, file.read) {
		return a.installed(file, r.Name, false, "already has")
	}
	if err := file.check(text, r.Name, entry); err != nil {
		return err
	}
	if err := a.confirm(ctx, f, file, text); err != nil {
		return err
	}
	if err := file.save(text, dirs, r.Name, entry); err != nil {
		return err
	}
	if err := a.installed(file, r.Name, true, "now has"); err != nil || a.json || r.URL == "" || r.Header["Authorization"] != "" {
		return err
	}
	_, err = fmt.Fprintf(a.out, "If the server wants a login: %s.\n", strings.ReplaceAll(client.LogsIn, "NAME", r.Name))
	return err
}

// mine returns the entry that kagami wrote if the file has it, and "" if the file has no entry of this name.
// An entry that kagami did not write is an error.
func (f *configFile) mine(name, written string) (string, error) {
	switch there, own, err := f.holds(name, written); {
	case err != nil || !there:
		return "", err
	case !own:
		return "", fmt.Errorf("%s has a server %q that kagami did not write: choose another --name", f.path, name)
	}
	return written, nil
}

// another returns an error if the file has the name for another program or URL. It is for names
// that were not given with --name: many programs have the name server, and the second must not
// replace the first.
func (f *configFile) another(r *clients.Server) error {
	all, err := f.servers()
	if err != nil {
		return err
	}
	entry, ok := entryOf(all[r.Name])
	if !ok || entry.Words()[0] == cmp.Or(r.URL, r.Command) {
		return nil
	}
	return fmt.Errorf("%s has a server %q at %s: choose another --name, or replace that server with --name %s",
		f.path, r.Name, entry.Words()[0], r.Name)
}

// fits returns an error if the client's configuration cannot contain the server, or the settings for
// its login.
func fits(c *clients.Program, r *clients.Server) error {
	switch l := &r.Login; {
	case r.URL != "" && !c.Remote:
		return usagef("%s does not read URLs from its file: add %s in its settings, under Connectors", c.Name, r.URL)
	case !l.Given():
		return nil
	case r.URL == "":
		return usagef("--client-id, --scope and --callback-port are for servers at a URL")
	case !c.Logins:
		return usagef("%s has no login settings in its file: it registers itself", c.Name)
	case l.Port != 0 && c.Name != "claude-code":
		return usagef("--callback-port: %s chooses the port itself", c.Name)
	}
	return nil
}

func (a *cli) uninstall(ctx context.Context, f *installFlags) error {
	client, err := clientNamed(f.client)
	if err != nil {
		return err
	}
	dirs, err := userDirectories()
	if err != nil {
		return err
	}
	file, err := dirs.open(client)
	if err != nil {
		return err
	}
	installed, err := dirs.installed()
	if err != nil {
		return err
	}
	written := installed[client.Name][f.name]
	there, own, err := file.holds(f.name, written)
	switch {
	case err != nil:
		return err
	case !there:
		return &missingError{fmt.Sprintf("%s has no server %q", file.path, f.name)}
	case !own:
		return fmt.Errorf("%s: kagami did not write the server %q, or it was changed later: remove it by hand", file.path, f.name)
	}
	text, err := file.without(f.name, written)
	if err == nil {
		err = file.check(text, f.name, "")
	}
	if err != nil {
		return err
	}
	if err := a.confirm(ctx, f, file, text); err != nil {
		return err
	}
	if err := file.save(text, dirs, f.name, ""); err != nil {
		return err
	}
	return a.installed(file, f.name, true, "no longer has")
}

// installed prints what a client's file has after the command. changed reports whether it was written.
func (a *cli) installed(file *configFile, name string, changed bool, has string) error {
	if a.json {
		return writeJSON(a.out, map[string]any{"client": file.client.Name, "file": file.path, "name": name, "changed": changed})
	}
	_, err := fmt.Fprintf(a.out, "%s %s the server %s. Restart the client.\n", file.client.Name, has, name)
	return err
}

// registration returns the description of the server for a client.
func (a *cli) registration(ctx context.Context, f *installFlags, server []string, dirs directories) (*clients.Server, error) {
	r := &clients.Server{Name: f.name, Env: map[string]string{}, Header: map[string]string{}, Login: f.login}
	for _, pair := range slices.Concat(a.serverEnv, f.env) { // serverEnv comes from the entry of a server that was given by name
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, usagef("--env: want NAME=VALUE, got %q", pair)
		}
		r.Env[name] = value
	}
	if remote(server) {
		if len(f.env) > 0 {
			return nil, usagef("--env is for servers that the client starts: send --header to a URL")
		}
		r.URL = server[0]
		fields, err := a.fields()
		if err != nil {
			return nil, err
		}
		for name, values := range fields {
			r.Header[name] = strings.Join(values, ", ")
		}
		if a.bearer != "" {
			r.Header["Authorization"] = "Bearer " + a.bearer
		}
		return r, named(r, cmp.Or(a.serverName, "server"))
	}
	if len(a.headers) > 0 || a.bearer != "" {
		return nil, usagef("--header and --bearer are for servers at a URL")
	}
	return r, a.registerProgram(ctx, r, server, dirs)
}

// registerProgram adds the command that starts a server to its description.
func (a *cli) registerProgram(ctx context.Context, r *clients.Server, server []string, dirs directories) error {
	command, own := startOf("", server), programName(server[0])
	if command == nil {
		binary, err := a.kept(ctx, server[0], dirs)
		if err != nil {
			return &unreachedError{err}
		}
		command, own = []string{binary}, programName(binary)
	}
	r.Command, r.Args = command[0], command[1:]
	if r.Name == "" && a.serverName == "" && len(server) > 1 && slices.Contains(runners, own) {
		return usagef("%s starts many servers: give this one a name with --name", own)
	}
	return named(r, cmp.Or(a.serverName, own))
}

// runners are programs that start servers. If the name of a runner were the name of a server, a second
// server of that runner would replace the first in the client.
var runners = []string{"bun", "bunx", "cargo", "deno", "docker", "dotnet", "go", "java", "kagami", "node", "npx", "php", "pipx", "podman", "python", "python3", "ruby", "sh", "uv", "uvx"}

// named sets the name of a server that has none, and checks it.
func named(r *clients.Server, name string) error {
	if r.Name == "" {
		r.Name = name
	}
	if !goodName.MatchString(r.Name) {
		return usagef("--name %s: use lower-case letters, digits, _ and -", r.Name)
	}
	return nil
}

// kept builds a Go package into kagami's own directory, where the program stays. Each package has a directory
// of its own there, because many programs are named server.
func (a *cli) kept(ctx context.Context, pkg string, dirs directories) (string, error) {
	dir, err := os.MkdirTemp("", "kagami-")
	if err != nil {
		return "", err
	}
	defer func() { _ = removeAll(dir) }()
	built, err := a.build(ctx, pkg, dir)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(built)
	if err != nil {
		return "", err
	}
	source := pkg
	if _, err := os.Stat(pkg); err == nil { // a directory, or a file of Go
		if source, err = filepath.Abs(pkg); err != nil {
			return "", err
		}
	}
	sum := sha256.Sum256([]byte(source))
	place := filepath.Join(dirs.own(), "bin", hex.EncodeToString(sum[:4]), filepath.Base(built))
	if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
		return "", err
	}
	next := place + ".new"
	if err := os.WriteFile(next, text, 0o700); err != nil { //nolint:gosec // a program
		return "", err
	}
	return place, replaceProgram(next, place)
}

// confirm shows the change, and asks whether to make it.
func (a *cli) confirm(ctx context.Context, f *installFlags, file *configFile, text []byte) error {
	_, _ = fmt.Fprintf(a.errs, "%s:\n%s", file.path, changedLines(string(file.read), string(text)))
	if f.yes {
		return nil
	}
	in, ok := a.in.(*os.File)
	if !ok || !isatty.IsTerminal(in.Fd()) {
		return usagef("nothing was changed: there is no terminal to ask, so give --yes")
	}
	switch yes, err := newTerminal(in, a.errs).agreed(ctx, "Write it?"); {
	case ctx.Err() != nil:
		return err
	case !yes:
		return errors.New("nothing was changed")
	}
	return nil
}

// changedLines returns the lines between the common start and the common end, as a diff.
func changedLines(before, after string) string {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < min(len(a), len(b))-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	var out strings.Builder
	for _, line := range a[start : len(a)-end] {
		_, _ = fmt.Fprintf(&out, "- %s\n", line)
	}
	for _, line := range b[start : len(b)-end] {
		_, _ = fmt.Fprintf(&out, "+ %s\n", line)
	}
	return out.String()
}

// installations are the entries that kagami has written, by client and name.
type installations map[string]map[string]string

// own returns the directory of kagami's own files.
func (d directories) own() string { return filepath.Join(d.config, "kagami") }

// installed returns the saved entries. If the file cannot be read, it returns an error, so that the
// file is not replaced by an empty one. Another version of kagami may have written it.
func (d directories) installed() (installations, error) {
	all := installations{}
	path := filepath.Join(d.own(), "installed.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the servers that kagami has installed: %s: %w: move the file away to begin a new one", path, err)
	}
	if all == nil { // the file has null
		all = installations{}
	}
	return all, nil
}

// keep saves an entry that kagami has written. If entry is "", keep removes the saved one.
func (i installations) keep(dirs directories, client, name, entry string) error {
	if i[client] == nil {
		i[client] = map[string]string{}
	}
	i[client][name] = entry
	if entry == "" {
		delete(i[client], name)
	}
	text, _ := json.MarshalIndent(i, "", "  ") // encoding texts does not fail
	if err := os.MkdirAll(dirs.own(), 0o700); err != nil {
		return err
	}
	return replaceFile(filepath.Join(dirs.own(), "installed.json"), text, 0o600)
}
