//go:build unix

package serve_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/serve"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

const greeting = "waits for a client"

// awaited closes found when the greeting has been written.
type awaited struct {
	found chan struct{}
	once  sync.Once
}

func (a *awaited) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(greeting)) {
		a.once.Do(func() { close(a.found) })
	}
	return len(p), nil
}

func TestGreetsAPerson(t *testing.T) {
	t.Parallel()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminal here: %v", err)
	}
	errs := &awaited{found: make(chan struct{})}
	ended := make(chan error, 1)
	go func() {
		ended <- serve.Run(t.Context(), greeter(), nil, serve.Streams(terminal, io.Discard, errs))
	}()
	within(t, errs.found)
	if err := terminal.Close(); err != nil { // hanging up ends the server
		t.Fatal(err)
	}
	if err := within(t, ended); err != nil {
		t.Log("a terminal that hangs up is an error to some systems:", err)
	}
}

// program is the test binary as a server program.
func program(t *testing.T, app string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), asServer+"="+app)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	return cmd, &errs
}

func TestMainExitCodes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		app  string
		args []string
		code int
		want string // on stderr
	}{
		{"greeter", nil, 0, ""}, // stdin is empty
		{"loud", nil, 0, "starting\nstopping"},
		{"greeter", []string{"--nope"}, 2, "unknown flag --nope"},
		{"greeter", []string{"--worker", "--store", "file:kept.db"}, 2, "--worker needs a store that several processes share"},
		{"greeter", []string{"--http", "127.0.0.1:0", "--page=192.0.2.1:80"}, 2, "others can reach 192.0.2.1:80"}, // before it serves anything
		{"faulty", nil, 2, "bad name!"},
		{"unstartable", nil, 1, "no database"},
		{"greeter", []string{"--worker"}, 2, "--worker: a worker needs a store"},
	}
	for _, tt := range tests {
		t.Run(tt.app+strings.Join(tt.args, " "), func(t *testing.T) {
			t.Parallel()
			cmd, errs := program(t, tt.app, tt.args...)
			var out bytes.Buffer
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }).Stop() // a server that should not have started
			err := cmd.Wait()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if code := cmd.ProcessState.ExitCode(); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if strings.Contains(errs.String(), "the server has ended") != (tt.code == 1) {
				t.Errorf("a server that had begun, and no other, is logged when it ends:\n%s", errs.String())
			}
			if !strings.Contains(errs.String(), tt.want) {
				t.Errorf("stderr has no %q:\n%s", tt.want, errs.String())
			}
			if out.Len() > 0 {
				t.Errorf("stdout: %s", &out)
			}
			if strings.Contains(errs.String(), greeting) {
				t.Errorf("the null device was taken for a terminal:\n%s", errs.String())
			}
		})
	}
}

// What hooks print is no part of what a program reads.
func TestMainInspects(t *testing.T) {
	t.Parallel()
	cmd, errs := program(t, "loud", "--inspect=json")
	if out, err := cmd.Output(); err != nil || !json.Valid(out) || !strings.Contains(errs.String(), "stopping") {
		t.Errorf("%v: %s\nstderr: %s", err, out, errs)
	}
}

func TestMainServes(t *testing.T) {
	t.Parallel()
	cmd, errs := program(t, "greeter")
	c, err := client.Connect(t.Context(), client.Command(cmd))
	if err != nil {
		t.Fatal(err)
	}
	for tool, want := range map[string]string{"hello": "Hello, you!", "noisy": "done"} {
		args := map[string]string{}
		if tool == "hello" {
			args["name"] = "you"
		}
		if got, err := client.Call[string](t.Context(), c, tool, args); got != want || err != nil {
			t.Errorf("%s: %q, %v", tool, got, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(errs.String(), "noise") {
		t.Errorf("what the handler printed did not go to stderr: %s", errs.String())
	}
}

// A client that dies takes stdin, stdout and stderr with it. The server ends in order all the
// same, and is not killed by the first line of its log.
func TestMainOutlivesItsClient(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]string{
		"idle": "",
		"in a call": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"noisy","_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, _ := program(t, "orderly")
			word := filepath.Join(t.TempDir(), "word")
			cmd.Env = append(cmd.Env, stopped+"="+word)
			ours, theirs, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(call), theirs, theirs
			if err := errors.Join(ours.Close(), cmd.Start(), theirs.Close()); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("the server: %v", err)
			}
			if got, err := os.ReadFile(word); string(got) != "in order" {
				t.Errorf("what it leaves is %q, %v", got, err)
			}
		})
	}
}

// The log shows whether a server was stopped or killed.
func TestMainLogsItsStop(t *testing.T) {
	t.Parallel()
	cmd, _ := program(t, "greeter", "--http", "127.0.0.1:0")
	cmd.Stderr = nil
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }).Stop()
	var logged []string
	for lines := bufio.NewScanner(errs); lines.Scan(); {
		if strings.Contains(lines.Text(), "serves MCP over HTTP on") {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			continue
		}
		var entry struct{ Level, Msg, Why string }
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			t.Errorf("%q: %v", lines.Text(), err)
		}
		logged = append(logged, entry.Level+" "+entry.Msg+": "+entry.Why)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if len(logged) != 2 || !strings.HasPrefix(logged[0], "info the server stops: terminated") || !strings.HasPrefix(logged[1], "info the server has stopped: ") {
		t.Errorf("logged %q", logged)
	}
}

// napping starts a server and a call of nap that is running when it returns. When c is
// closed cmd has ended.
func napping(t *testing.T, milliseconds int) (c *client.Client, cmd *exec.Cmd, result <-chan error) {
	t.Helper()
	cmd, _ = program(t, "greeter")
	c, err := client.Connect(t.Context(), client.Command(cmd))
	if err != nil {
		t.Fatal(err)
	}
	asleep, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := client.Call[string](t.Context(), c, "nap", map[string]int{"milliseconds": milliseconds},
			client.OnProgress(func(protocol.Progress) { close(asleep) }))
		ended <- err
	}()
	t.Cleanup(func() { _ = c.Close() })
	within(t, asleep)
	return c, cmd, ended
}

func TestFirstSignalIsGraceful(t *testing.T) {
	t.Parallel()
	_, cmd, result := napping(t, 300)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := within(t, result); err != nil {
		t.Errorf("the call in flight was not answered: %v", err)
	}
}

func TestSecondSignalKills(t *testing.T) {
	t.Parallel()
	c, cmd, result := napping(t, int(patience.Milliseconds()))
	// The second one must not come before the first has been handled, and nothing
	// outside the process shows that: so it is sent until the server is gone.
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for gone := false; !gone; {
		select {
		case err := <-result:
			if gone = true; err == nil {
				t.Error("the call was answered")
			}
		case <-ticker.C:
			_ = cmd.Process.Signal(os.Interrupt) // it may be gone
		}
	}
	_ = c.Close() // which tells how the process ended
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != os.Interrupt {
		t.Errorf("a second signal did not end the server: %v", cmd.ProcessState)
	}
}
