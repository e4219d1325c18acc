package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestBatchLine expects the lines that cross-spawn 7 makes.
func TestBatchLine(t *testing.T) {
	t.Parallel()
	const npx, shim = `C:\Program Files\nodejs\npx.cmd`, `C:\shop\node_modules\.bin\server.cmd`
	for _, tt := range []struct {
		path string
		args []string
		want string
	}{
		{npx, nil, `cmd.exe /d /s /c "C:\Program^ Files\nodejs\npx.cmd"`},
		{npx, []string{"-y", "https://h/sse?a=1&b=2"}, `cmd.exe /d /s /c "C:\Program^ Files\nodejs\npx.cmd ^"-y^" ^"https://h/sse^?a=1^&b=2^""`},
		{`C:\a.bat`, []string{`100%PATH%`, `x^y`, ""}, `cmd.exe /d /s /c "C:\a.bat ^"100^%PATH^%^" ^"x^^y^" ^"^""`},
		{`C:\a.bat`, []string{`two words`, `"q"`, `C:\dir\`, `a\"`}, `cmd.exe /d /s /c "C:\a.bat ^"two^ words^" ^"\^"q\^"^" ^"C:\dir\\^" ^"a\\\^"^""`},
		{`./bin/run.cmd`, nil, `cmd.exe /d /s /c ".\bin\run.cmd"`},
		{shim, []string{"a&b"}, `cmd.exe /d /s /c "C:\shop\node_modules\.bin\server.cmd ^^^"a^^^&b^^^""`},
	} {
		if got := batchLine(tt.path, tt.args); got != tt.want {
			t.Errorf("%s %q:\ngot  %s\nwant %s", tt.path, tt.args, got, tt.want)
		}
	}
}

func TestProgramName(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"NPX.CMD": "npx", "Python.EXE": "python", "run.bat": "run", "/usr/bin/npx": "npx", "server.py": "server.py", "Shop": "Shop"} {
		if got := programName(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	if !isBatch("NPX.CMD", "windows") || isBatch("npx.cmd", "linux") || isBatch("npx.exe", "windows") {
		t.Error("only .cmd and .bat on Windows are batch files")
	}
}

// TestBatchArguments checks that arguments arrive unchanged.
func TestBatchArguments(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "windows" {
		t.Skip("needs cmd.exe")
	}
	const role = "KAGAMI_TEST_PRINTS_ARGUMENTS"
	want := []string{"a&b", "100%PATH%", "x^y", "two words"}
	if os.Getenv(role) != "" {
		_, _ = os.Stdout.WriteString(strings.Join(os.Args[slices.Index(os.Args, "--")+1:], "\n") + "\n")
		os.Exit(0)
	}
	file := filepath.Join(t.TempDir(), "run it.cmd")
	text := "@set " + role + "=1\r\n@\"" + os.Args[0] + "\" -test.run=^^TestBatchArguments$ -- %*\r\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(file, want...)
	useCmdExe(cmd)
	out, err := cmd.Output()
	if got := strings.Split(strings.TrimSpace(string(out)), "\n"); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", out, err, want)
	}
}
