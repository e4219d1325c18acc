//go:build unix

package serve_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// TestEndOfAnImpatientClient does what the TypeScript client does with a server that is busy: it closes
// stdin, sends SIGTERM two seconds later, and would kill two seconds after that. The grace period of
// stdio is five seconds. The calls end when they are cancelled, or ignore it.
func TestEndOfAnImpatientClient(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		wait time.Duration // from the end of stdin to the signal
		deaf bool
	}{{wait: 0}, {wait: 100 * time.Millisecond}, {wait: 2 * time.Second}, {wait: 2 * time.Second, deaf: true}} {
		t.Run(fmt.Sprintf("%v,deaf=%t", tt.wait, tt.deaf), func(t *testing.T) {
			t.Parallel()
			mark := filepath.Join(t.TempDir(), "stopped")
			cmd, _ := program(t, "orderly")
			cmd.Env = append(cmd.Env, stopped+"="+mark)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_, _ = fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
			lines := bufio.NewScanner(out)
			lines.Scan()
			_, _ = fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			for id := 2; id < 6; id++ {
				_, _ = fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"nap","arguments":{"milliseconds":60000,"deaf":%t},"_meta":{"progressToken":%d}}}`+"\n", id, tt.deaf, id)
			}
			for begun := 0; begun < 4 && lines.Scan(); {
				if strings.Contains(lines.Text(), "notifications/") {
					begun++
				}
			}
			_ = in.Close()
			time.Sleep(tt.wait) // what the client waits for
			signaled := time.Now()
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			for lines.Scan() { // to the end
			}
			err = cmd.Wait()
			took := time.Since(signaled)
			if _, missing := os.Stat(mark); err != nil || missing != nil || took > 4*time.Second {
				t.Errorf("ended %v after SIGTERM: %v; OnStop: %v", took, err, missing)
			}
			t.Logf("ended %v after SIGTERM", took)
		})
	}
}

// TestHangUp: a terminal that is closed sends SIGHUP, often twice. The server stops in order, or goes on if nohup
// has started it.
func TestHangUp(t *testing.T) {
	t.Parallel()
	for _, ignored := range []bool{false, true} {
		t.Run(fmt.Sprintf("ignored=%t", ignored), func(t *testing.T) {
			t.Parallel()
			if !ignored && signal.Ignored(syscall.SIGHUP) {
				t.Skip("nohup has started the test")
			}
			mark := filepath.Join(t.TempDir(), "stopped")
			cmd, _ := program(t, "orderly")
			cmd.Env = append(cmd.Env, stopped+"="+mark)
			if ignored {
				cmd.Args = append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
				cmd.Path = "/bin/sh"
			}
			c, err := client.Connect(t.Context(), client.Command(cmd))
			if err != nil {
				t.Fatal(err)
			}
			began := make(chan struct{})
			ended := make(chan error, 1)
			go func() {
				_, err := client.Call[string](t.Context(), c, "nap", map[string]int{"milliseconds": 500},
					client.OnProgress(func(protocol.Progress) { close(began) }))
				ended <- err
			}()
			within(t, began)
			for range 3 {
				_ = cmd.Process.Signal(syscall.SIGHUP)
				time.Sleep(50 * time.Millisecond) // signals of one kind are merged
			}
			if err := within(t, ended); err != nil {
				t.Errorf("the call in flight was not answered: %v", err)
			}
			_, missing := os.Stat(mark)
			if ignored && missing == nil {
				t.Error("the server has stopped")
			}
			_ = c.Close() // waits for the end of the process
			if _, missing := os.Stat(mark); missing != nil || !cmd.ProcessState.Success() {
				t.Errorf("%v; OnStop: %v", cmd.ProcessState, missing)
			}
		})
	}
}

// TestStandardInputBelongsToTheProtocol: neither code that reads os.Stdin nor a child that inherits it
// takes a request away.
func TestStandardInputBelongsToTheProtocol(t *testing.T) {
	t.Parallel()
	cmd, _ := program(t, "reader")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, err := client.Connect(ctx, client.Command(cmd))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if _, err := c.CallTool(ctx, "hello", map[string]string{"name": "you"}); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
