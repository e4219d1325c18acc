package main

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"text/template"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
)

//go:embed template
var templates embed.FS

// project has the values for the templates of a new module.
type project struct {
	Name, Module         string
	FX, HTTP, Auth, Task bool
	Dir                  string // directory with a clone of Kagami; "": use a release
	Version, Go          string
	target               string // directory of the new module
	interactive          bool   // the user is asked what the module needs
}

// generated has the template of each file of a new module.
var generated = map[string]string{
	"go.mod": "go.mod", "main.go": "main.go", "tools.go": "tools.go", "tools_test.go": "tools_test.go",
	"Dockerfile": "Dockerfile", "compose.yaml": "compose.yaml", "mcp.json": "mcp.json", "README.md": "README.md", "AGENTS.md": "AGENTS.md",
	".dockerignore": "dockerignore", ".gitattributes": "gitattributes", ".gitignore": "gitignore", ".golangci.yml": "golangci.yml", ".github/workflows/ci.yml": "ci.yml",
}

func (a *cli) newCommand() *cobra.Command {
	p := &project{}
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Create a server: a module that compiles and passes its tests",
		Long: `Create a server: a module in the directory NAME. It has two tools, their tests, a
Dockerfile, a compose file, configuration for clients and CI, and notes for people and
models that work on it. Without flags, kagami asks in the terminal what the module needs.

Kagami has not been released yet. The module therefore uses a clone on this machine, with a
"replace" line in go.mod. This is the clone of --kagami, or else the clone that this
program was built in.`,
		Example: `  kagami new notes
  kagami new notes --http --auth --module example.com/team/notes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("want one NAME, such as: kagami new notes")
			}
			p.interactive = !slices.ContainsFunc([]string{"fx", "http", "auth", "task"}, cmd.Flags().Changed)
			return a.begin(cmd.Context(), p, args[0])
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&p.FX, "fx", false, "build the program with fx")
	flags.BoolVar(&p.HTTP, "http", false, "configure clients to reach the server over HTTP")
	flags.BoolVar(&p.Auth, "auth", false, "require a token from callers (OAuth resource server)")
	flags.BoolVar(&p.Task, "task", false, "add a tool that clients may run as a task")
	flags.StringVar(&p.Module, "module", "", "`PATH` of the module (default NAME)")
	flags.StringVar(&p.Dir, "kagami", "", "`DIR` with a clone of Kagami")
	return cmd
}

var goodName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)

// begin writes the module, completes it, and prints what to do next.
func (a *cli) begin(ctx context.Context, p *project, target string) error {
	p.target, p.Name = filepath.Clean(target), filepath.Base(filepath.Clean(target))
	if !goodName.MatchString(p.Name) {
		return usagef("%q is not a name for a server: use lower-case letters, digits, _ and -", p.Name)
	}
	if p.Module == "" {
		p.Module = p.Name
	}
	if name := occupied(p.target); name != "" {
		return fmt.Errorf("the directory %s is not empty: it has %s", p.target, name)
	}
	if err := p.source(); err != nil {
		return err
	}
	if err := p.checkModule(ctx); err != nil {
		return err
	}
	if in, ok := a.in.(*os.File); ok && p.interactive && isatty.IsTerminal(in.Fd()) {
		if err := a.choose(ctx, p); err != nil {
			return err
		}
	}
	files, err := p.files()
	if err != nil {
		return err
	}
	if err := a.write(ctx, p, files); err != nil {
		return err
	}
	return a.next(ctx, p)
}

// write writes the files of the module, and completes it. If it is interrupted, it removes them again, because the
// next attempt needs an empty directory. The directory itself stays if it was there before.
func (a *cli) write(ctx context.Context, p *project, files map[string][]byte) error {
	_, before := os.Lstat(p.target)
	for name, text := range files {
		path := filepath.Join(p.target, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	err := a.settle(ctx, p)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		for _, name := range slices.Concat(slices.Collect(maps.Keys(files)), []string{"go.sum", ".github/workflows", ".github"}) {
			_ = os.Remove(filepath.Join(p.target, filepath.FromSlash(name))) // a directory with other files stays
		}
		if before != nil {
			_ = os.Remove(p.target)
		}
	}
	return fmt.Errorf("the module in %s is not complete: %w", p.target, err)
}

// occupied returns the name of a file in the directory, or "" if it is empty or missing. A license, and what git
// keeps there, do not count: the directory may be a clone of a new repository.
func occupied(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	for _, entry := range entries {
		if name := entry.Name(); name != ".git" && !strings.HasPrefix(name, "LICENSE") {
			return name
		}
	}
	return ""
}

// checkModule returns an error if go does not accept the path of the module. It is checked before
// anything is written.
func (p *project) checkModule(ctx context.Context) error {
	if p.Module == "main" {
		return usagef("the tests of a module main do not compile: choose another path with --module, such as example.com/%s", p.Name)
	}
	dir, err := os.MkdirTemp("", "kagami-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	start := exec.CommandContext(ctx, "go", "mod", "init", "--", p.Module)
	start.Dir = dir
	switch out, err := start.CombinedOutput(); {
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("there is no program go in PATH: install Go first")
	case err != nil:
		return usagef("--module: %s", strings.TrimPrefix(strings.TrimSpace(string(out)), "go: "))
	}
	if err := os.Remove(filepath.Join(dir, "go.mod")); err != nil { // or the name would be a package of this module
		return err
	}
	list := exec.CommandContext(ctx, "go", "list", "-e", "-find", "-f", "{{.Standard}}", "--", p.Module)
	list.Dir = dir
	if standard, err := list.Output(); err != nil || string(standard) != "false\n" { // a package of Go, or a word such as all
		return usagef("go uses the name %s itself: choose a path with --module, such as example.com/%s", p.Module, p.Name)
	}
	return nil
}

// choose asks the user what the module needs.
func (a *cli) choose(ctx context.Context, p *project) error {
	t := newTerminal(a.in, a.errs)
	for _, question := range []struct {
		text string
		into *bool
	}{
		{"Will clients reach it over HTTP?", &p.HTTP},
		{"Do callers need a token?", &p.Auth},
		{"Does a tool take long, so that clients may run it as a task?", &p.Task},
		{"Do you build your programs with fx?", &p.FX},
	} {
		yes, err := t.agreed(ctx, question.text)
		if err != nil {
			return fmt.Errorf("reading the answer: %w", err)
		}
		*question.into = yes
	}
	return nil
}

const kagamiModule = "github.com/kagami-mcp/kagami"

// source finds the version or clone of Kagami that the module uses.
func (p *project) source() error {
	p.Version = version()
	released := strings.HasPrefix(p.Version, "v") && !strings.ContainsAny(p.Version, "-+")
	if p.Dir == "" && !released {
		p.Dir = builtFrom()
	}
	p.Go, _, _ = strings.Cut(strings.TrimPrefix(runtime.Version(), "go"), " ") // there may be " X:experiment"
	if p.Dir == "" {
		if !released {
			return usagef("Kagami has not been released yet: give a clone of it with --kagami DIR")
		}
		return nil
	}
	whole, err := filepath.Abs(p.Dir)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(whole, "go.mod"))
	if err != nil || !strings.Contains(strings.ReplaceAll(string(text), "\r\n", "\n"), "module "+kagamiModule+"\n") {
		return usagef("--kagami: %s is not a clone of Kagami", p.Dir)
	}
	if line := regexp.MustCompile(`(?m)^go (\S+)`).FindSubmatch(text); line != nil {
		p.Go = string(line[1])
	}
	p.Dir, p.Version = filepath.ToSlash(whole), "v0.0.0"
	return nil
}

// Dash returns the prefix of the program's flags, for the templates.
func (p *project) Dash() string {
	if p.FX {
		return "-"
	}
	return "--"
}

// GoMinor returns the version of Go without its last part, for the templates.
func (p *project) GoMinor() string {
	parts := strings.SplitN(p.Go, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// builtFrom returns the clone that this program was built in. If the clone does not exist,
// builtFrom returns "".
func builtFrom() string {
	_, file, _, ok := runtime.Caller(0)
	dir := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); !ok || err != nil {
		return ""
	}
	return dir
}

// files returns the files of the module, from the templates.
func (p *project) files() (map[string][]byte, error) {
	parsed, err := template.New("").Delims("<%", "%>").ParseFS(templates, "template/*.tmpl")
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for name, from := range generated {
		var out bytes.Buffer
		if err := parsed.ExecuteTemplate(&out, from+".tmpl", p); err != nil {
			return nil, err
		}
		all[name] = out.Bytes()
		if strings.HasSuffix(name, ".go") {
			if all[name], err = format.Source(out.Bytes()); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return all, nil
}

// settle completes go.mod and go.sum, and writes the lock file of the server's API.
func (a *cli) settle(ctx context.Context, p *project) error {
	if p.Dir != "" { // the modules of Kagami's go.sum are probably in the module cache
		if sums, err := os.ReadFile(filepath.Join(p.Dir, "go.sum")); err == nil {
			if err := os.WriteFile(filepath.Join(p.target, "go.sum"), sums, 0o644); err != nil {
				return err
			}
		}
	}
	end := a.notice(buildNotice, "completing go.mod")
	tidy := exec.CommandContext(ctx, "go", "mod", "tidy")
	tidy.Dir = p.target
	out, err := tidy.CombinedOutput()
	end()
	if err != nil {
		return fmt.Errorf("go mod tidy: %s\n%s", err.Error(), strings.TrimSpace(string(out))) // not wrapped: an *exec.ExitError would mean that the server has ended
	}
	quiet := *a
	quiet.errs, quiet.goEnv = io.Discard, []string{"GOWORK=off"} // a go.work above does not have the module yet
	here, err := filepath.Abs(p.target)                          // a bare name could be a program in PATH, such as test
	if err != nil {
		return err
	}
	lock, err := quiet.lockOf(ctx, []string{here})
	if err != nil {
		return err
	}
	raw, err := lock.Encode()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.target, "mcp.lock"), raw, 0o644)
}

// inWorkspace reports whether a go.work decides about the module.
func (p *project) inWorkspace(ctx context.Context) bool {
	cmd := exec.CommandContext(ctx, "go", "env", "GOWORK")
	cmd.Dir = p.target
	out, err := cmd.Output()
	file := strings.TrimSpace(string(out))
	return err == nil && file != "" && file != "off"
}

// next prints what was done, and what to do next.
func (a *cli) next(ctx context.Context, p *project) error {
	steps := []string{"cd " + shellWord(p.target, runtime.GOOS), "go test ./...", "go tool kagami page ."}
	if p.inWorkspace(ctx) {
		steps = slices.Insert(steps, 1, "go work use .")
	}
	if a.json {
		files := slices.Sorted(maps.Keys(generated))
		return writeJSON(a.out, map[string]any{
			"name": p.Name, "module": p.Module, "directory": p.target, "kagami": cmp.Or(p.Dir, p.Version),
			"files": append(files, "go.sum", "mcp.lock"), "next": steps,
		})
	}
	from := ""
	if p.Dir != "" {
		from = fmt.Sprintf("\nIt uses the clone of Kagami in %s (see go.mod).\n", p.Dir)
	}
	_, err := fmt.Fprintf(a.out, `%s is ready.
%s
  %s

AGENTS.md describes how to add a tool.
`, p.Name, from, strings.Join(steps, "\n  "))
	return err
}
