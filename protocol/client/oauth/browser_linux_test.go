package oauth_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol/client/oauth"
)

// The browser gets the address as one argument. One that fails is an error, and one that stays is left
// alone when the login ends.
func TestSystemBrowser(t *testing.T) {
	dir := t.TempDir()
	for name, value := range map[string]string{"DISPLAY": ":0", "CI": "", "SSH_CONNECTION": "", "BROWSER": "", "PATH": dir + ":/bin:/usr/bin", "OPENED": filepath.Join(dir, "opened")} {
		t.Setenv(name, value)
	}
	program := func(end string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\nprintf '%s|' \"$@\" >\"$OPENED\"\n"+end+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const address = "https://login.example.com/a?b=$(touch x)&c=1;d"
	program("exit 0")
	if err := oauth.SystemBrowser(t.Context(), address); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "opened")); err != nil || string(text) != address+"|" {
		t.Errorf("%s, %v", text, err)
	}
	if err := oauth.SystemBrowser(t.Context(), "javascript:alert(1)"); !errors.Is(err, oauth.ErrUnsafeURL) {
		t.Errorf("an address that is not a page: %v", err)
	}
	program("exit 3")
	if err := oauth.SystemBrowser(t.Context(), address); err == nil || !strings.Contains(err.Error(), "3") {
		t.Errorf("a browser that fails: %v", err)
	}
	program("echo $$ >\"$OPENED\"; exec sleep 60")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := oauth.SystemBrowser(ctx, address); err != nil {
		t.Errorf("a browser that stays: %v", err)
	}
	pid := 0
	for range 100 { // on a busy machine it begins late
		text, _ := os.ReadFile(filepath.Join(dir, "opened"))
		if pid, _ = strconv.Atoi(strings.TrimSpace(string(text))); pid != 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if pid == 0 {
		t.Fatal("the browser did not begin")
	}
	if group, err := syscall.Getpgid(pid); err != nil || group != pid {
		t.Errorf("Ctrl-C would end the browser: process %d is in the group %d, %v", pid, group, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}
