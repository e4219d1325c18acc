package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/testkit/transporttest"
)

// everything is the path of the tests' server. TestMain builds it.
var everything string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "kagami-test-")
	if err == nil {
		everything = filepath.Join(dir, "everything")
		build := exec.Command("go", "build", "-buildvcs=false", "-o", everything, "../../examples/everything")
		build.Stderr = os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "building the test server:", err)
		os.Exit(1)
	}
	// A server of httptest closes the idle connections of http.DefaultTransport when it ends. That may
	// cancel a request of another test, so connections are not kept.
	http.DefaultTransport = &http.Transport{DisableKeepAlives: true}
	goleak.VerifyTestMain(transporttest.Settled(m), goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// kagami runs a command in the same way as main.
func kagami(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var stdout bytes.Buffer
	var stderr shared
	a := &cli{out: &stdout, errs: &stderr}
	code = a.run(t.Context(), args)
	return stdout.String(), stderr.String(), code
}

// shared is a stderr for the server's process and the command, which write at the same time.
type shared struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// The first command of the README, for the source of a package.
func TestCallWeather(t *testing.T) {
	t.Parallel()
	out, errs, code := kagami(t, "call", "../../examples/weather", "forecast", "city=Kyoto", "days=2")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) < 5 || !strings.HasPrefix(lines[0], "city") || !strings.HasSuffix(lines[0], "Kyoto") {
		t.Errorf("got\n%s", out)
	}
	out, errs, code = kagami(t, "call", "../../examples/weather", "forecast", `{"city":"Kyoto","days":2}`, "--json")
	var result struct {
		StructuredContent struct {
			City string
			Days []any
		}
	}
	if err := json.Unmarshal([]byte(out), &result); code != 0 || err != nil ||
		result.StructuredContent.City != "Kyoto" || len(result.StructuredContent.Days) != 2 {
		t.Errorf("--json: exit code %d, %v\n%s%s", code, err, out, errs)
	}
	out, errs, code = kagami(t, "call", "../../examples/weather", "forecast", "city=Kioto")
	if code != 5 || out != "" || !strings.Contains(errs, "Kyoto") {
		t.Errorf("an unknown city: exit code %d\n%s%s", code, out, errs)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		code int
		out  string // part of stdout; "": stdout must be empty
		errs string // part of stderr
	}{
		{"text", []string{"call", everything, "test_simple_text"}, 0, "This is a simple text response for testing.\n", ""},
		{"typed", []string{"call", everything, "slow", "seconds=0"}, 0, "Waited 0 s.\n", ""},
		{"error result", []string{"call", everything, "test_error_handling"}, 5, "", "This tool intentionally returns an error for testing\n"},
		{"error result as JSON", []string{"call", everything, "test_error_handling", "--json"}, 5, `"isError": true`, "This tool intentionally"},
		{"wrong arguments", []string{"call", everything, "slow", "seconds=x"}, 5, "", "Try: {\"seconds\":1}\n"},
		{"wrong arguments, earlier", []string{"call", everything, "slow", "seconds=x", "--revision", "2025-06-18"}, 1, "", "Try: {\"seconds\":1}\n(JSON-RPC error -32602)\n"},
		{"unknown tool", []string{"call", everything, "slo"}, 7, "", "Did you mean \"slow\"? (JSON-RPC error -32602)\nthe server lists no tool \"slo\". It lists: "},
		{"progress", []string{"call", everything, "burst", "n=2", "--progress"}, 0, "Sent 2 of each.\n", "1/2 progress 1\ninfo: log 1\n2/2 progress 2\ninfo: log 2\n"},
		{"progress beside JSON", []string{"call", everything, "burst", "n=2", "--progress", "--json"}, 0, `"text": "Sent 2 of each."`, "1/2 progress 1\ninfo: log 1\n2/2 progress 2\ninfo: log 2\n"},
		{"no progress", []string{"call", everything, "burst", "n=2"}, 0, "Sent 2 of each.\n", ""},
		{"timeout", []string{"call", everything, "slow", "seconds=60", "--timeout", "10s"}, 1, "", "the server took longer than 10s (--timeout)"},
		{"after dashes", []string{"call", "test_x_mcp_header", "region=eu", "--", everything, "--stdio"}, 0, "Region: eu, replicas: 0, dry run: false\n", ""},
		{"command line", []string{"call", "--cmd", "'" + everything + "' --stdio", "test_x_mcp_header"}, 0, "No region given.\n", ""},
		{"command as a flag", []string{"--version"}, 2, "", "unknown flag --version: did you mean kagami version?\n"},
		{"unknown flag", []string{"call", "--nope"}, 2, "", "Try: kagami call --help\n"},
		{"server that fails", []string{"tools", "--", everything, "--nope"}, 4, "", "unknown flag --nope"},

		{"version as JSON", []string{"version", "--json"}, 0, `"2026-07-28"`, ""},
		{"tools", []string{"tools", everything}, 0, "update_watched (not destructive)", ""},
		{"resources", []string{"resources", everything}, 0, "test://template/{id}/data (application/json)", ""},
		{"prompts", []string{"prompts", everything}, 0, "arg1  required  First test argument", ""},
		{"inspect", []string{"inspect", everything}, 0, "everything 1.0.0, at revision", ""},
		{"inspect JSON", []string{"inspect", everything, "--json"}, 0, `"uriTemplate": "test://template/{id}/data"`, ""},

		{"read text", []string{"read", everything, "test://static-text"}, 0, "This is the content of the static text resource.\n", ""},
		{"read blob", []string{"read", everything, "test://static-binary"}, 0, "[test://static-binary, image/png, 70 bytes]\n", ""},
		{"read JSON", []string{"read", everything, "test://template/7/data"}, 0, `  "id": "7"`, ""},
		{"read raw", []string{"read", everything, "test://static-text", "--json"}, 0, `"uri": "test://static-text"`, ""},
		{"read nothing", []string{"read", everything, "test://nope"}, 7, "", "not found"},

		{"prompt", []string{"prompt", everything, "test_prompt_with_arguments", "arg1=a", "arg2=b"}, 0, "user:\n  Prompt with arguments: arg1='a', arg2='b'\n", ""},
		{"prompt raw", []string{"prompt", everything, "test_simple_prompt", "--json"}, 0, `"role": "user"`, ""},
		{"unknown prompt", []string{"prompt", everything, "test_simple"}, 7, "", "Did you mean test_simple_prompt?"},
		{"prompt without argument", []string{"prompt", everything, "test_prompt_with_arguments", "arg1=a"}, 1, "", "arg2"},

		{"version", []string{"version"}, 0, "MCP 2024-11-05", ""},
		{"help", []string{"--help"}, 0, "Call, inspect and test MCP servers from a shell.", ""},
		{"no command", nil, 0, "Call, inspect and test MCP servers from a shell.", ""},
		{"unknown command", []string{"cal"}, 2, "", `unknown command "cal"`},
		{"help of a command", []string{"help", "tasks", "list"}, 0, "List your tasks", ""},
		{"help of none", []string{"help", "cal"}, 2, "", `unknown command "cal"`},
		{"negative timeout", []string{"tools", everything, "--timeout", "-1s"}, 2, "", "--timeout must not be negative"},
		{"unknown flag", []string{"call", everything, "slow", "--nope"}, 2, "", "--nope"},
		{"no server", []string{"call"}, 2, "", "no server"},
		{"empty server", []string{"tools", ""}, 2, "", "no server"},
		{"no scheme", []string{"tools", "localhost:8080/mcp"}, 2, "", "did you mean http://localhost:8080/mcp?"},
		{"other scheme", []string{"tools", "ws://localhost/mcp"}, 2, "", "got the scheme ws, want http or https"},
		{"scheme in capitals", []string{"tools", "HTTP://127.0.0.1:1/mcp"}, 4, "", "connecting to HTTP://127.0.0.1:1/mcp"},
		{"path of Windows", []string{"tools", "--cmd", `C:\new\server.exe "a \"b\""`}, 4, "", `connecting to C:\new\server.exe a "b"`},
		{"no program", []string{"tools", "nowhere"}, 4, "", `"nowhere" is not a file and not a program in PATH`},
		{"no tool", []string{"call", everything}, 2, "", "no TOOL given"},
		{"no URI", []string{"read", everything}, 2, "", "no URI given"},
		{"too much", []string{"tools", everything, "more"}, 2, "", `unexpected argument "more"`},
		{"not a pair", []string{"call", everything, "slow", "5"}, 2, "", "want key=value"},
		{"not a pair, prompt", []string{"prompt", everything, "x", "5"}, 2, "", "want key=value"},
		{"a file and JSON", []string{"call", everything, "test_simple_text", "--json", "-o", "x"}, 2, `"kind":"usage"`, "--output and --json exclude each other"},
		{"unknown revision, conformance", []string{"conformance", everything, "--revision", "2025-11-24"}, 2, "", "want one of 2024-11-05"},
		{"unknown revision", []string{"tools", everything, "--revision", "2024-01-01"}, 2, "", "want one of 2024-11-05"},
		{"completion", []string{"completion", "bash"}, 0, "bash completion", ""},
		{"completion of no shell", []string{"completion", "bsh"}, 2, "", `unexpected argument "bsh": did you mean bash?`},
		{"completion and more", []string{"completion", "bash", "x"}, 2, "", `unexpected argument "x"`},
		{"completion alone", []string{"completion"}, 0, "Generate the autocompletion script", ""},
		{"status of one", []string{"auth", "status", "https://mcp.example.com/mcp"}, 2, "", `unexpected argument "https://mcp.example.com/mcp"`},
		{"stand-in and more", []string{"stand-in", "x"}, 2, "", `unexpected argument "x"`},
		{"password", []string{"tools", "http://ann:secret@127.0.0.1:1/mcp"}, 4, "", "connecting to http://ann:xxxxx@127.0.0.1:1/mcp: nothing listens at"},
		{"unfinished quote", []string{"tools", "--cmd", "'a"}, 2, "", "unfinished quote"},
		{"no such path", []string{"tools", "./nowhere"}, 4, "", "want a Go package or a program"},
		{"not a program", []string{"tools", "../../protocol"}, 4, "", "building the server"},
		{"not a server", []string{"tools", "--", "go", "version"}, 4, "", "connecting to go version"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, errs, code := kagami(t, tt.args...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if !strings.Contains(out, tt.out) || tt.out == "" && out != "" {
				t.Errorf("stdout:\n%swant %q", out, tt.out)
			}
			if !strings.Contains(errs, tt.errs) {
				t.Errorf("stderr:\n%swant %q", errs, tt.errs)
			}
		})
	}
}

// The command shows what a server prints besides its messages, and how the server ended.
func TestServersThatDoNotSpeak(t *testing.T) {
	t.Parallel()
	const printed = "kagami: the server wrote to stdout something other than an MCP message: "
	for name, tt := range map[string]struct {
		script string
		code   int
		errs   []string
	}{
		"a banner":        {`echo "Welcome to 1.0"; exec ` + everything, 0, []string{printed + "Welcome to 1.0\n"}},
		"logs":            {`printf '{"level":"info"}\n\033[31m7\n'; exec ` + everything, 0, []string{printed + `{"level":"info"}`, printed + `\x1b[31m7`}},
		"without end":     {`for i in 1 2 3 4 5 6 7 8 9; do echo "line $i"; done; exec ` + everything, 0, []string{printed + "line 5\nkagami: the server writes more such lines; they are not shown\n"}},
		"its usage":       {`echo "usage: server FILE"; exit 64`, 4, []string{printed + "usage: server FILE\n", "(exit status 64)"}},
		"crash":           {`echo "no key" >&2; exit 3`, 4, []string{"no key\n", "connecting to sh -c", ": the program ended before it answered (exit status 3): run it by hand to see why\n"}},
		"end at probe":    {`read line; case "$line" in *'"method":"initialize"'*) ;; *) exit 1;; esac; echo '{"jsonrpc":"2.0","id":1001,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}'; read line; read line; echo '{"jsonrpc":"2.0","id":1002,"result":{"tools":[]}}'; read line`, 0, nil},
		"crash in a call": {`read line; echo '{"jsonrpc":"2.0","id":1001,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public"}}'; read line; exit 4`, 4, []string{"tools/list: client: the connection was lost", "(server process: exit status 4)\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, errs, code := kagami(t, "tools", "--", "sh", "-c", tt.script)
			if code != tt.code || strings.Contains(errs, "line 6") {
				t.Errorf("exit code %d\n%s", code, errs)
			}
			for _, want := range tt.errs {
				if !strings.Contains(errs, want) {
					t.Errorf("want %q in\n%s", want, errs)
				}
			}
		})
	}
}

// A program that serves HTTP only never answers on stdout. The user gets a hint long before --timeout.
func TestSilentProgram(t *testing.T) {
	t.Parallel()
	_, errs, code := kagami(t, "list", "--timeout", "6s", "--", "sleep", "60")
	const hint = "kagami: the program has not answered on its standard output yet. If it serves HTTP only, start it and give its URL"
	if hinted, late := strings.Index(errs, hint), strings.Index(errs, "the server took longer than 6s"); code != 4 || hinted < 0 || late < hinted {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

// full is a writer to a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestFullDisk checks that a command fails if it cannot write its output.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--help"},
		{"version"},
		{"tools", everything},
		{"call", everything, "test_simple_text"},
		{"read", everything, "test://static-text"},
		{"read", everything, "test://static-text", "--json"},
		{"prompt", everything, "test_simple_prompt"},
		{"lock", everything},
	} {
		var errs shared
		a := &cli{out: full{}, errs: &errs}
		if code := a.run(t.Context(), args); code != 1 || !strings.Contains(errs.String(), "kagami: no space left on device") {
			t.Errorf("%s: exit code %d\n%s", args[0], code, errs.String())
		}
	}
}

// TestLogOnFullDisk checks that a server does not end because its log cannot be written.
func TestLogOnFullDisk(t *testing.T) {
	t.Parallel()
	log := (&cli{errs: full{}}).newServerLog()
	if n, err := log.Write([]byte("line\n")); n != 5 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
}

func TestReadToFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pixel.png")
	if out, errs, code := kagami(t, "read", everything, "test://static-binary", "-o", path); code != 0 || out != "" {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(got, []byte("\x89PNG")) {
		t.Errorf("%v: %q", err, got)
	}
}

func TestEveryRevision(t *testing.T) {
	t.Parallel()
	for _, rev := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(rev, func(t *testing.T) {
			t.Parallel()
			out, errs, code := kagami(t, "inspect", everything, "--revision", rev)
			if code != 0 || !strings.HasPrefix(out, "everything 1.0.0, at revision "+rev+"\n") {
				t.Errorf("exit code %d\n%s%s", code, out, errs)
			}
		})
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	errs := &cancelling{cancel: cancel}
	// The first progress line shows that the call is running.
	a := &cli{out: &out, errs: errs}
	code := a.run(ctx, []string{"call", everything, "test_tool_with_progress", "--progress"})
	if code != 130 || out.Len() > 0 {
		t.Errorf("exit code %d\n%s%s", code, out.String(), errs.String())
	}
}

// TestInterruptedBuild checks that the error names the signal, and not the end of the compiler.
func TestInterruptedBuild(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancelCause(t.Context())
	interrupt(errors.New("interrupt signal received"))
	var errs shared
	a := &cli{out: io.Discard, errs: &errs}
	if code := a.run(ctx, []string{"tools", "../../examples/hello"}); code != 130 || errs.String() != "kagami: interrupt signal received\n" {
		t.Errorf("exit code %d\n%s", code, errs.String())
	}
}

// cancelling cancels a context at the first write.
type cancelling struct {
	shared
	cancel context.CancelFunc
}

func (c *cancelling) Write(p []byte) (int, error) {
	c.cancel()
	return c.shared.Write(p)
}

// TestFailuresAsJSON checks that a failure is JSON on stdout with --json, unless a result is
// already there.
func TestFailuresAsJSON(t *testing.T) {
	t.Parallel()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("<!DOCTYPE html><title>Not here</title>"))
	}))
	defer page.Close()
	for args, want := range map[string]struct {
		code    int
		kind    string
		message string
	}{
		"tools --json": {2, "usage", "no server"}, "tools --json --nope": {2, "usage", "unknown flag --nope"},
		"tools --json --jsn x":                        {2, "usage", "did you mean --json?"},
		"tools --json ./nowhere":                      {4, "no server", "want a Go package or a program"},
		"tools --json " + page.URL:                    {4, "no server", "no MCP server at " + page.URL + ": it answers HTTP 404 with a page of HTML"},
		"call --json " + everything + " nope":         {7, "not found", `the server lists no tool "nope"`},
		"read --json " + everything + " test://nope":  {7, "not found", "not found"},
		"prompt --json " + everything + " nope":       {7, "not found", `the server lists no prompt "nope"`},
		"complete --json " + weather + " nope a=b":    {7, "not found", `the server lists no prompt "nope"`},
		"complete --json " + weather + " x://{a} a=b": {7, "not found", `the server lists no template "x://{a}"`},
	} {
		out, errs, code := kagami(t, strings.Fields(args)...)
		var failed struct {
			Error struct {
				Code          int
				Kind, Message string
			}
		}
		err := json.Unmarshal([]byte(out), &failed)
		if got := failed.Error; err != nil || code != want.code || got.Code != code || got.Kind != want.kind || !strings.Contains(got.Message, want.message) {
			t.Errorf("%s: exit code %d, %v\n%s%s", args, code, err, out, errs)
		}
	}
}

// TestJSONOfTheServer checks that a flag of the server is not a flag of kagami.
func TestJSONOfTheServer(t *testing.T) {
	t.Parallel()
	if out, errs, code := kagami(t, "tools", "--", everything, "--json"); code != 4 || out != "" {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

// TestList checks that list shows all kinds of components.
func TestList(t *testing.T) {
	t.Parallel()
	out, errs, code := kagami(t, "list", weather)
	for _, want := range []string{"tool      forecast ", "resource  weather://cities ", "template  weather://{city} ", "prompt    plan_trip "} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit code %d, want %q\n%s%s", code, want, out, errs)
		}
	}
	if lines := strings.Count(out, "\n"); lines != 5 {
		t.Errorf("%d lines\n%s", lines, out)
	}
	if out, _, code := kagami(t, "list", weather, "--json"); code != 0 || !json.Valid([]byte(out)) {
		t.Errorf("--json: exit code %d\n%s", code, out)
	}
}
