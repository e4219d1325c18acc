package interop_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/middleware/authserver"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/testkit"
)

// mcp-remote, the bridge of clients that know only stdio, opens a browser, logs in, and renews its token.
func TestAuthServerMCPRemote(t *testing.T) {
	t.Parallel()
	installNode(t, "node")
	s := startAuthServer(t, devLogin)
	dir := t.TempDir()
	opened, browser := filepath.Join(dir, "opened"), filepath.Join(dir, "xdg-open")
	if err := os.WriteFile(browser, []byte("#!/bin/sh\necho \"$1\" >>\""+opened+"\"\n"), 0o700); err != nil { //nolint:gosec // it must be executable
		t.Fatal(err)
	}
	bridge := exec.CommandContext(t.Context(), "node", "node_modules/mcp-remote/dist/proxy.js", s.url, "--allow-http")
	bridge.Dir = "node"
	// Without a display it is BROWSER that opens the page.
	bridge.Env = append(os.Environ(), "BROWSER="+browser, "PATH="+dir+":"+os.Getenv("PATH"), "MCP_REMOTE_CONFIG_DIR="+dir)
	agreed := make(chan error, 1)
	go func() {
		for range 200 {
			time.Sleep(100 * time.Millisecond)
			if page, err := os.ReadFile(opened); err == nil && strings.Contains(string(page), "\n") {
				agreed <- testkit.Browse(t)(t.Context(), strings.TrimSpace(string(page)))
				return
			}
		}
		agreed <- os.ErrNotExist
	}()
	c, err := client.Connect(t.Context(), client.Command(bridge))
	if failed := <-agreed; failed != nil {
		t.Fatalf("no page was opened: %v; %v", failed, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for range 2 {
		if who, err := client.Call[string](t.Context(), c, "whoami", nil); err != nil || who != "ann" {
			t.Errorf("%q, %v", who, err)
		}
		time.Sleep(2100 * time.Millisecond)
	}
	if s.happened(authserver.CodeIssued) != 1 {
		t.Errorf("%+v", s.events)
	}
}
