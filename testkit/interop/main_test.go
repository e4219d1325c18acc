package interop_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// everything is the server under test, on Fiber, and everythingNet the same on
// net/http; porting is the server of docs/porting.md. All are built once.
var everything, everythingNet, porting string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "kagami-interop")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	everything, everythingNet, porting = filepath.Join(dir, "everything"), filepath.Join(dir, "nethttp"), filepath.Join(dir, "porting")
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "./examples/everything", "./examples/everything/nethttp", "./docs/code/porting")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building everything: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// install makes the node_modules of a directory what its lock file says.
var install = map[string]func() error{
	"node":      sync.OnceValue(func() error { return npmCI("node") }),
	"inspector": sync.OnceValue(func() error { return npmCI("inspector") }),
	"issuer":    sync.OnceValue(func() error { return npmCI("issuer") }),
}

// npmCI leaves the lock file that it installed in node_modules, for the next run.
func npmCI(dir string) error {
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return err
	}
	stamp := filepath.Join(dir, "node_modules", ".kagami-installed")
	if was, err := os.ReadFile(stamp); err == nil && bytes.Equal(was, lock) {
		return nil
	}
	ci := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	ci.Dir = dir
	if out, err := ci.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return os.WriteFile(stamp, lock, 0o600)
}

func installNode(t *testing.T, dir string) {
	t.Helper()
	if err := install[dir](); err != nil {
		t.Fatal(err)
	}
}

// scripts are the two TypeScript SDKs' clients, with the carriers that they have.
var scripts = []struct {
	file     string
	carriers []string
	steps    int // at least
}{
	{"legacy.mjs", []string{"stdio", "http", "net-http", "sse"}, 22},
	{"modern.mjs", []string{"stdio", "http", "net-http"}, 20},
	{"negotiate.mjs", []string{"stdio", "http", "net-http", "sse"}, 3},
}

// TestTypeScript runs the two TypeScript SDKs' clients.
func TestTypeScript(t *testing.T) {
	installNode(t, "node")
	for _, script := range scripts {
		for _, c := range carriers {
			if !slices.Contains(script.carriers, c.name) {
				continue
			}
			t.Run(script.file+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				drive(t, c.start(t), script.file, script.steps)
			})
		}
	}
}

// piped starts a process, and returns its stdin and the lines of its stdout.
func piped(t *testing.T, cmd *exec.Cmd) (io.WriteCloser, *bufio.Scanner) {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return stdin, bufio.NewScanner(out)
}

// drive runs a script, which may ask for a crash of the server.
func drive(t *testing.T, at *site, file string, steps int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	node := exec.CommandContext(ctx, "node", append([]string{file}, at.node()...)...)
	node.Dir = "node"
	var errs output
	node.Stderr = &errs
	answers, lines := piped(t, node)
	ok := 0
	for lines.Scan() {
		switch line := lines.Text(); {
		case line == "crash":
			at.crash(t)
			if _, err := fmt.Fprintln(answers); err != nil {
				t.Error(err)
			}
		case strings.HasPrefix(line, "ok "):
			ok++
		default:
			t.Log(line)
		}
	}
	if err := node.Wait(); err != nil {
		t.Fatalf("after %d steps: %v\n%s", ok, err, &errs)
	}
	if ok < steps {
		t.Fatalf("only %d steps ran:\n%s", ok, &errs)
	}
}

// cancelled cancels calls until the server has noticed one. On a busy machine a call may end before
// its handler has begun, so each call gets more time than the one before.
func cancelled(t *testing.T, noticed func() bool, call func(ctx context.Context) error) {
	t.Helper()
	for patience := 200 * time.Millisecond; patience < 20*time.Second; patience *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := call(ctx)
		cancel()
		if err == nil {
			t.Fatal("the call was not cancelled")
		}
		for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
			if noticed() {
				return
			}
		}
	}
	t.Fatal("no cancellation reached its handler")
}

// within waits for a condition that other goroutines bring about.
func within(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen within 20 s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
