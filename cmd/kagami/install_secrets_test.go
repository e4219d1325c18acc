package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestInstallKeepsSecrets checks that only this user can read what install writes. A secret in the
// environment is not written, and a symbolic link stays a link.
func TestInstallKeepsSecrets(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("file modes and symbolic links need Unix")
	}
	home := t.TempDir()
	for name, value := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, "cfg"), "CODEX_HOME": "", "CLAUDE_CONFIG_DIR": "", bearerEnv: "from-the-environment",
	} {
		t.Setenv(name, value)
	}
	install := func(client string, more ...string) {
		t.Helper()
		args := append([]string{"install", "https://mcp.example.com/mcp", "--client", client, "--name", "shop", "--yes"}, more...)
		if _, errs, code := kagami(t, args...); code != 0 {
			t.Fatalf("%s: exit code %d\n%s", client, code, errs)
		}
	}
	link, whole := filepath.Join(home, ".gemini", "settings.json"), filepath.Join(home, "dotfiles.json")
	if err := errors.Join(os.Mkdir(filepath.Dir(link), 0o700), os.WriteFile(whole, []byte("{}\n"), 0o600), os.Symlink(whole, link)); err != nil {
		t.Fatal(err)
	}
	install("cursor", "--bearer", "s3cret")
	install("vscode")
	install("gemini")
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	if text, err := os.ReadFile(whole); err != nil || !strings.Contains(string(text), "mcp.example.com") {
		t.Errorf("the linked file has %q, %v", text, err)
	}
	absent, gone := filepath.Join(home, ".codeium", "windsurf", "mcp_config.json"), filepath.Join(home, "unmounted.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(absent), 0o700), os.Symlink(gone, absent)); err != nil {
		t.Fatal(err)
	}
	_, errs, code := kagami(t, "install", "https://mcp.example.com/mcp", "--client", "windsurf", "--yes")
	if info, err := os.Lstat(absent); code != 1 || !strings.Contains(errs, "is a link to a file that does not exist") || err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("a link to nothing is %v, %v: exit code %d\n%s", info, err, code, errs)
	}
	if out, errs, code := kagami(t, "install", "https://mcp.example.com/mcp", "--client", "windsurf", "--print"); code != 0 || !strings.Contains(out, "mcp.example.com") {
		t.Errorf("--print with such a link: exit code %d\n%s", code, errs)
	}
	files, secrets := 0, 0
	if err := filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == home || d.Type()&os.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", path, info.Mode())
		}
		if d.IsDir() {
			return nil
		}
		files++
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "s3cret") {
			secrets++
		}
		if strings.Contains(string(text), "from-the-environment") {
			t.Errorf("%s has the secret of the environment", path)
		}
		return err
	}); err != nil || files != 4 || secrets != 2 {
		t.Errorf("%d files, %d with the secret, %v", files, secrets, err)
	}
}
