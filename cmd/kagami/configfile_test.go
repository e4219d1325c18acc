package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOddFiles checks that install and uninstall do not change a file if the client would not find the entry, or
// would still find it.
func TestOddFiles(t *testing.T) {
	dirs := ownHome(t)
	entry := `{"command":"` + filepath.ToSlash(everything) + `","args":[]}`
	install, uninstall := []string{"install", everything, "--name", "notes"}, []string{"uninstall", "notes"}
	for _, tc := range []struct {
		client, file string
		args         []string
		want         string
	}{
		{"cursor", `{"mcpServers":{},"mcpServers":{}}`, install, "edit it by hand"},
		{"vscode", `{"servers":{"a":{}},/* again */"servers":{"a":{}}}`, install, "edit it by hand"},
		{"zed", `{"context_servers":{"notes":ENTRY,"notes":ENTRY}}`, uninstall, "edit it by hand"},
		{"gemini", `{"mcpServers":{"notes":ENTRY,"notes":ENTRY}}`, append(install, "--env", "A=b"), "edit it by hand"},
		{"codex", "[[mcp_servers]]\na = 1\n", install, "edit it by hand"},
		{"windsurf", `{"mcpServers":{`, install, "is invalid JSON"},
		{"claude-code", `{"mcpServers":`, uninstall, "is invalid JSON"},
	} {
		c, err := clientNamed(tc.client)
		if err != nil {
			t.Fatal(err)
		}
		before, path := strings.ReplaceAll(tc.file, "ENTRY", entry), dirs.file(c)
		own := installations{}
		if before != tc.file {
			own[tc.client] = map[string]string{"notes": entry}
		}
		err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(before), 0o600), own.keep(dirs, "other", "other", "{}"))
		if err != nil {
			t.Fatal(err)
		}
		_, errs, code := kagami(t, append(tc.args, "--client", tc.client, "--yes")...)
		if text, err := os.ReadFile(path); code != 1 || err != nil || string(text) != before || !strings.Contains(errs, tc.want) {
			t.Errorf("%s with %s: exit code %d, %v\n%s%s", tc.args[0], before, code, err, errs, text)
		}
	}
}

// TestInstallSameName checks that a server does not replace another one because their programs have one name, or
// because neither URL has a name.
func TestInstallSameName(t *testing.T) {
	dirs := ownHome(t)
	var programs []string
	for _, name := range []string{"one/server.exe", "two/server.exe", "kagami.exe"} {
		program := filepath.Join(dirs.home, "programs", filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(program), 0o700), os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700)); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
		programs = append(programs, program)
	}
	const refused = "choose another --name, or replace that server with --name server"
	for _, client := range []string{"cursor", "codex"} {
		for _, step := range []struct {
			args []string
			want string
		}{
			{[]string{programs[0]}, ""},
			{[]string{programs[0], "--env", "A=b"}, ""},
			{[]string{programs[1]}, refused},
			{[]string{"https://example.com/mcp"}, refused},
			{[]string{"https://example.com/mcp", "--name", "server"}, ""},
			{[]string{"https://example.com/mcp", "--header", "X: y"}, ""},
			{[]string{"https://example.org/mcp"}, refused},
			{[]string{"--", programs[2], "dev", "."}, "kagami starts many servers"},
		} {
			_, errs, code := kagami(t, append([]string{"install", "--client", client, "--yes"}, step.args...)...)
			if (code == 0) != (step.want == "") || !strings.Contains(errs, step.want) {
				t.Errorf("%s, %q: exit code %d\n%s", client, step.args, code, errs)
			}
		}
	}
}
