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
