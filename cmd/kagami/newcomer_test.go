package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/serve/clients"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// newcomer has an empty directory, its own home directory and the built command.
type newcomer struct {
	t       *testing.T
	program string
	dir     string
	env     []string
}

func arrive(t *testing.T) *newcomer {
	t.Helper()
	program, err := devProgram()
	if err != nil {
		t.Fatal(err)
	}
	known, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE", "GOCACHE", "GOENV").Output()
	if err != nil {
		t.Fatal(err)
	}
	caches := strings.Fields(string(known))
	home := t.TempDir()
	return &newcomer{t: t, program: program, dir: t.TempDir(), env: append(os.Environ(),
		"HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"), "XDG_CACHE_HOME="+filepath.Join(home, ".cache"),
		"GOMODCACHE="+caches[0], "GOCACHE="+caches[1], "GOENV="+caches[2])}
}

// runs runs a command in a directory. Its output must contain want.
func (n *newcomer) runs(folder, want string, command ...string) {
	n.t.Helper()
	if command[0] == "kagami" {
		command[0] = n.program
	}
	cmd := exec.CommandContext(n.t.Context(), command[0], command[1:]...)
	cmd.Dir, cmd.Env = filepath.Join(n.dir, folder), n.env
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), want) {
		n.t.Fatalf("%s: %v, want %q in\n%s", strings.Join(command, " "), err, want, out)
	}
}

// TestNewcomer starts in an empty directory. It ends with a server that is tested, known to every
// client, and ready for a container.
func TestNewcomer(t *testing.T) {
	t.Parallel()
	inProcesses(t)
	n := arrive(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	n.runs("", "notes is ready.", "kagami", "new", "notes", "--module", "example.com/notes", "--http", "--kagami", root)
	n.runs("notes", "ok", "go", "test", "./...")
	n.develops()
	server := n.builds()
	for i, c := range clients.All() {
		what := server
		if i == 0 {
			what = "." // the package is built
		}
		n.runs("notes", "", "kagami", "install", what, "--client", c.Name, "--name", "notes"+strconv.Itoa(i), "--yes")
		n.runs("notes", "", "kagami", "install", server, "--client", c.Name, "--name", "shared", "--yes")
	}
	n.runs("", "Buy milk", "kagami", "call", "shared", "add_note", "text=Buy milk") // all clients have the same server
	n.runs("", "Buy tea", "kagami", "call", "notes0", "add_note", "text=Buy tea")   // by its name
	n.runs("notes", "no client refuses or changes anything", "kagami", "inspect", ".", "--profile", "all", "--strict")
	n.runs("notes", "ok    revisions 2024-11-05", "kagami", "doctor", ".")
	n.runs("notes", "", "kagami", "diff", "mcp.lock", ".", "--allow", "additive")
}

// develops changes the server while a client uses it, with a mistake in between.
func (n *newcomer) develops() {
	n.t.Helper()
	cmd := exec.Command(n.program, "dev", ".")
	log := &shared{}
	cmd.Dir, cmd.Env, cmd.Stderr = filepath.Join(n.dir, "notes"), n.env, log
	ctx, cancel := context.WithTimeout(n.t.Context(), time.Minute)
	defer cancel()
	c, err := client.Connect(ctx, client.Command(cmd))
	if err != nil {
		n.t.Fatalf("%v\n%s", err, log)
	}
	n.t.Cleanup(func() { _ = c.Close() })
	f := &followed{t: n.t, client: c}
	file := filepath.Join(n.dir, "notes", "extra.go")
	for _, step := range [][2]string{
		{"package main\n\nfunc init() { undefinedThing() }\n", "extra.go"},
		{"package main\n", "/text"}, // the tool answers again, and an argument is missing
	} {
		if err := os.WriteFile(file, []byte(step[0]), 0o600); err != nil {
			n.t.Fatal(err)
		}
		f.until("add_note", step[1])
	}
}

// builds runs the commands of the Dockerfile without an engine for containers.
func (n *newcomer) builds() (server string) {
	n.t.Helper()
	text, err := os.ReadFile(filepath.Join(n.dir, "notes", "Dockerfile"))
	if err != nil {
		n.t.Fatal(err)
	}
	const step = "RUN CGO_ENABLED=0 go build "
	_, line, found := strings.Cut(string(text), step)
	line, _, _ = strings.Cut(line, "\n")
	if !found {
		n.t.Fatalf("the Dockerfile builds nothing:\n%s", text)
	}
	server = filepath.Join(n.t.TempDir(), "server")
	n.runs("notes", "", "sh", "-c", "CGO_ENABLED=0 go build "+strings.Replace(line, "/server", server, 1))
	n.runs("", "notes", server, "--version")
	return server
}
