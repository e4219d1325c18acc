package interop_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// everything is the server under test, built once.
var everything string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "kagami-interop")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	everything = filepath.Join(dir, "everything")
	build := exec.Command("go", "build", "-o", everything, "./examples/everything")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building everything: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// installed is the outcome of npm ci, which runs once.
var installed = sync.OnceValues(func() ([]byte, error) {
	ci := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	ci.Dir = "node"
	return ci.CombinedOutput()
})

func installNode(t *testing.T) {
	t.Helper()
	if out, err := installed(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
}

// TestTypeScript runs the two TypeScript SDKs' clients.
func TestTypeScript(t *testing.T) {
	installNode(t)
	for _, script := range []string{"legacy.mjs", "modern.mjs"} {
		t.Run(script, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			node := exec.CommandContext(ctx, "node", script, everything)
			node.Dir = "node"
			out, err := node.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if n := bytes.Count(out, []byte("ok ")); n < 18 {
				t.Fatalf("only %d steps ran:\n%s", n, out)
			}
		})
	}
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
