package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestOpenBrowser checks that a browser is started only where its window can be seen, and that
// Ctrl-C for kagami, which the whole process group gets, does not end it.
func TestOpenBrowser(t *testing.T) {
	for name, tt := range map[string]struct {
		env   map[string]string
		opens bool
	}{
		"display":      {map[string]string{"DISPLAY": ":0"}, true},
		"wayland":      {map[string]string{"WAYLAND_DISPLAY": "wayland-0"}, true},
		"none":         {nil, false},
		"ssh":          {map[string]string{"DISPLAY": ":0", "SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22"}, false},
		"CI":           {map[string]string{"DISPLAY": ":0", "CI": "true"}, false},
		"switched off": {map[string]string{"DISPLAY": ":0", "BROWSER": "none"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			started := filepath.Join(dir, "started")
			for _, name := range []string{"DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "CI", "BROWSER"} {
				t.Setenv(name, tt.env[name])
			}
			t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			script := "#!/bin/sh\necho $$ >" + started + ".part\nmv " + started + ".part " + started + "\nexec sleep 2\n"
			if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o700); err != nil { //nolint:gosec // it is a program
				t.Fatal(err)
			}
			made, err := openBrowser(t.Context(), "http://127.0.0.1:1/?k=x")
			defer func() { _ = os.RemoveAll(made) }()
			if opens := err == nil; opens != tt.opens {
				t.Fatalf("error %v", err)
			}
			if !tt.opens {
				return
			}
			var text []byte
			for end := time.Now().Add(20 * time.Second); len(text) == 0 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
				text, _ = os.ReadFile(started)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			if group, err := syscall.Getpgid(pid); err != nil || group != pid {
				t.Errorf("process %d is in the group %d, %v", pid, group, err)
			}
		})
	}
}
