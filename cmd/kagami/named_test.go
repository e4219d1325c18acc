package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestHeaderBesideName checks that --header replaces a field of the entry of a server that was given by name.
func TestHeaderBesideName(t *testing.T) {
	ownHome(t)
	t.Chdir(t.TempDir())
	var mu sync.Mutex
	var got http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = r.Header
		w.WriteHeader(http.StatusTeapot)
	}))
	defer s.Close()
	project := `{"mcpServers":{"shop":{"url":"` + s.URL + `/mcp","headers":{"x-team":"a","X-Kept":"k"}}}}`
	if err := os.WriteFile("mcp.json", []byte(project), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := kagami(t, "tools", "shop", "--header", "X-Team: b", "--header", "Authorization: Bearer x"); code == 0 {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(got.Values("X-Team"), []string{"b"}) || !slices.Equal(got.Values("X-Kept"), []string{"k"}) {
		t.Errorf("sent: %v", got)
	}
	if _, errs, code := kagami(t, "tools", "shop", "--header", "none"); code != 2 || !strings.Contains(errs, "--header: want 'Name: value'") {
		t.Errorf("a wrong field: exit code %d\n%s", code, errs)
	}
	out, errs, code := kagami(t, "install", "shop", "--client", "cursor", "--print", "--header", "X-Team: b", "--header", "x-team: c")
	if code != 0 || !strings.Contains(out, `"X-Team": "b, c"`) || !strings.Contains(out, `"X-Kept": "k"`) {
		t.Errorf("install: exit code %d\n%s%s", code, out, errs)
	}
}

// TestNamesWithoutHome checks that the names of the project are known without a home directory.
func TestNamesWithoutHome(t *testing.T) {
	ownHome(t)
	for _, name := range []string{"HOME", "USERPROFILE", "home"} {
		t.Setenv(name, "")
	}
	t.Chdir(t.TempDir())
	project := `{"mcpServers":{"shop":{"command":"` + filepath.ToSlash(everything) + `","args":["--stdio"]}}}`
	if err := os.WriteFile("mcp.json", []byte(project), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := kagami(t, "call", "shop", "test_simple_text"); code != 0 || !strings.Contains(out, "simple text") {
		t.Errorf("call: exit code %d\n%s%s", code, out, errs)
	}
	if out, errs, code := kagami(t, "discover"); code != 0 || !strings.Contains(out, "mcp.json         shop ") {
		t.Errorf("discover: exit code %d\n%s%s", code, out, errs)
	}
	if out, errs, code := kagami(t, "__complete", "tools", ""); code != 0 || !strings.Contains(out, "shop\n") {
		t.Errorf("completion: exit code %d\n%s%s", code, out, errs)
	}
	if _, errs, code := kagami(t, "clients"); code != 1 {
		t.Errorf("clients: exit code %d\n%s", code, errs)
	}
}

// TestBrokenName checks that a name is explained if its entry, or the file that may have it, is broken.
func TestBrokenName(t *testing.T) {
	ownHome(t)
	t.Chdir(t.TempDir())
	for project, want := range map[string]string{
		`{"mcpServers":{"shop":{"commnd":"x"}}}`: "\nshop in mcp.json: it has no command and no URL\n",
		`{"mcpServers":{"shop":3}}`:              "\nshop in mcp.json: the entry does not have the members of a server\n",
		`{"mcpServers":{"shop":{"command":`:      "\nmcp.json is invalid JSON: ",
		`{"mcpServers":{"shop":{"command":"no-shop"},"no-shop":{"url":"https://shop.example"}}}`: "Go package\ndid you mean no-shop?\n",
	} {
		if err := os.WriteFile("mcp.json", []byte(project), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, errs, code := kagami(t, "tools", "shop"); code != 4 || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d\n%s", project, code, errs)
		}
	}
}

// TestRelativeConfig checks that directories of the user that are not absolute are ignored.
func TestRelativeConfig(t *testing.T) {
	home := ownHome(t).home
	t.Setenv("XDG_CONFIG_HOME", "cfg")
	t.Setenv("APPDATA", "app")
	dirs, err := userDirectories()
	if err != nil || dirs.config != filepath.Join(home, ".config") || dirs.appData != filepath.Join(home, "AppData", "Roaming") {
		t.Errorf("got %+v, %v", dirs, err)
	}
}

// TestReferences checks that a name starts the server with the values of variables, in its working
// directory, and that install does not write these values into a file.
func TestReferences(t *testing.T) {
	ownHome(t)
	t.Chdir(t.TempDir())
	t.Setenv("SHOP_TOKEN", "s3cret")
	fields := make(chan http.Header, 8)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fields <- r.Header
		w.WriteHeader(http.StatusTeapot)
	}))
	defer s.Close()
	project := `{"mcpServers":{
		"shop":{"url":"` + s.URL + `/${SHOP_PATH:-mcp}","headers":{"Authorization":"Bearer ${SHOP_TOKEN}","X-Kept":"${1} $HOME ${}"}},
		"typed":{"url":"` + s.URL + `","headers":{"X-Key":"${input:key}"}},
		"unset":{"url":"` + s.URL + `","headers":{"X-Key":"${env:SHOP_UNSET}"}},
		"codex":{"url":"` + s.URL + `","bearer_token_env_var":"SHOP_TOKEN","env_http_headers":{"X-Again":"SHOP_TOKEN"}},
		"local":{"command":"./bin/server","args":["${workspaceFolder}"],"cwd":"sub"},
		"broken":{"command":"/bin/false","args":["--token","${SHOP_TOKEN}"]},
		"script":{"command":"/bin/false","args":["-c","x=1; exec ${SHOP_UNSET}"]}
	}}`
	if err := os.WriteFile("mcp.json", []byte(project), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]http.Header{
		"shop":  {"Authorization": {"Bearer s3cret"}, "X-Kept": {"${1} $HOME ${}"}},
		"codex": {"Authorization": {"Bearer s3cret"}, "X-Again": {"s3cret"}},
	} {
		_, errs, _ := kagami(t, "tools", name)
		if len(fields) == 0 {
			t.Fatalf("%s: nothing was sent\n%s", name, errs)
		}
		got := <-fields
		for field, values := range want {
			if !slices.Equal(got[field], values) {
				t.Errorf("%s: %s is %q, want %q", name, field, got[field], values)
			}
		}
		for len(fields) > 0 {
			<-fields
		}
	}
	for name, want := range map[string]string{"typed": "the input key", "unset": "variable SHOP_UNSET is not set"} {
		if _, errs, code := kagami(t, "tools", name); code == 0 || !strings.Contains(errs, want) || !strings.Contains(errs, "in mcp.json") {
			t.Errorf("%s: exit code %d\n%s", name, code, errs)
		}
	}
	if out, errs, code := kagami(t, "install", "shop", "--client", "claude-code", "--print"); code != 0 || !strings.Contains(out, "Bearer ${SHOP_TOKEN}") {
		t.Errorf("install: exit code %d\n%s%s", code, out, errs)
	}
	for _, name := range []string{"broken", "script"} {
		if _, errs, code := kagami(t, "tools", name); code == 0 || strings.Contains(errs, "s3cret") || strings.Contains(errs, "is not set") {
			t.Errorf("%s: exit code %d\n%s", name, code, errs)
		}
	}
	if _, errs, code := kagami(t, "install", "codex", "--client", "cursor", "--print"); code != 2 || !strings.Contains(errs, "only Codex knows") {
		t.Errorf("install of variables: exit code %d\n%s", code, errs)
	}
	if err := os.MkdirAll(filepath.Join("sub", "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("sub", "bin", "server"), []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	if out, errs, code := kagami(t, "discover"); code != 0 || strings.Contains(out, "no program ./bin/server") || strings.Contains(out, "s3cret") {
		t.Errorf("discover: exit code %d\n%s%s", code, out, errs)
	}
	if _, errs, code := kagami(t, "install", "local", "--client", "cursor", "--print"); code != 2 || !strings.Contains(errs, "working directory") {
		t.Errorf("install with cwd: exit code %d\n%s", code, errs)
	}
	a := &cli{}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	words, err := a.lookUp("local")
	if want := []string{filepath.Join(here, "sub", "bin", "server"), here}; err != nil || !slices.Equal(words, want) || a.serverDir != "sub" {
		t.Errorf("local: got %q in %q, %v", words, a.serverDir, err)
	}
}

// TestMovedClients checks that variables of clients move their files.
func TestMovedClients(t *testing.T) {
	ownHome(t)
	moved := t.TempDir()
	t.Setenv("CODEX_HOME", moved)
	t.Setenv("CLAUDE_CONFIG_DIR", moved)
	for name, file := range map[string]string{"codex": "config.toml", "claude-code": ".claude.json"} {
		_, errs, code := kagami(t, "install", everything, "--client", name, "--name", "shop", "--yes")
		if _, err := os.Stat(filepath.Join(moved, file)); code != 0 || err != nil {
			t.Errorf("%s: exit code %d, %v\n%s", name, code, err, errs)
		}
	}
}
