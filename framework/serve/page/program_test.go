package page_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/serve/page"
)

// isProgram names the variable that makes a process of this test a server on stdio.
const isProgram = "KAGAMI_TEST_PROGRAM"

func init() { //nolint:gochecknoinits // before the tests of a process that is no test
	if os.Getenv(isProgram) != "" {
		program()
		os.Exit(0)
	}
}

// program is a server on stdio with the tools stay, leave and unlock. A call of leave closes the output,
// and the program ends a second later. A call of unlock asks for a pin, and answers with it.
func program() {
	results := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"program","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"stay","inputSchema":{"type":"object"}},{"name":"leave","inputSchema":{"type":"object"}},{"name":"unlock","inputSchema":{"type":"object"}}]}`,
		"tools/call": `{"content":[{"type":"text","text":"still here"}]}`,
	}
	var unlocks json.RawMessage // the call that waits for the answer
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
			Result struct{ Content struct{ Pin string } }
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		if m.Params.Name == "leave" {
			_ = os.Stdout.Close()
			time.Sleep(time.Second)
			_, _ = os.Stderr.WriteString("gone")
			return
		}
		if m.Params.Name == "unlock" {
			unlocks = m.ID
			fmt.Println(`{"jsonrpc":"2.0","id":"pin","method":"elicitation/create","params":{"message":"Your pin?","requestedSchema":{"type":"object","properties":{"pin":{"type":"string","format":"password"}}}}}`)
			continue
		}
		answer := `"error":{"code":-32601,"message":"no"}`
		if m.Method == "" {
			m.ID, answer = unlocks, fmt.Sprintf(`"result":{"content":[{"type":"text","text":"Opened with %s"}]}`, m.Result.Content.Pin)
		}
		if result, ok := results[m.Method]; ok {
			answer = `"result":` + result
		}
		fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n", m.ID, answer)
	}
}

// programs returns the options of a page that starts the program with the context that it gets.
// started counts the programs. log gets their standard error.
func programs(t *testing.T, log io.Writer) (o page.Options, started *atomic.Int64) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	started = &atomic.Int64{}
	o.Command = func(ctx context.Context) (*exec.Cmd, error) {
		cmd := exec.CommandContext(ctx, self)
		cmd.Env, cmd.Stderr = append(os.Environ(), isProgram+"=1"), log
		started.Add(1)
		return cmd, nil
	}
	return o, started
}

// state returns the state of the connection.
func (b *browser) state() string {
	b.t.Helper()
	var about struct{ State struct{ Name string } }
	b.ask(http.MethodGet, "/api/server", "", &about)
	return about.State.Name
}

// TestProgramOfContext: the context of Command ends with the page, not with the request or the attempt
// to connect.
func TestProgramOfContext(t *testing.T) {
	t.Parallel()
	o, _ := programs(t, nil)
	b := opened(t, o)
	b.ask(http.MethodGet, "/api/offers", "", nil)
	if d := b.end(b.start(`{"method":"tools/call","name":"stay"}`)); d.Phase != "result" || b.state() != "connected" {
		t.Errorf("state %s, call %+v", b.state(), d)
	}
}

// TestProgramEndsInOrder: Close asks a program to end before the context of Command ends.
func TestProgramEndsInOrder(t *testing.T) {
	t.Parallel()
	o, _ := programs(t, nil)
	start := o.Command
	var running *exec.Cmd
	o.Command = func(ctx context.Context) (*exec.Cmd, error) {
		cmd, err := start(ctx)
		running = cmd
		return cmd, err
	}
	p, err := page.New(o)
	if err != nil {
		t.Fatal(err)
	}
	b := shows(t, p)
	b.ask(http.MethodGet, "/api/offers", "", nil)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if !running.ProcessState.Success() {
		t.Errorf("the program ended with %v", running.ProcessState)
	}
}

// TestSlowProgram: while Command builds the program, the page is answered. Close ends the build.
func TestSlowProgram(t *testing.T) {
	t.Parallel()
	b := opened(t, page.Options{Command: func(ctx context.Context) (*exec.Cmd, error) {
		build := time.NewTimer(20 * time.Second)
		defer build.Stop()
		select {
		case <-build.C:
			return nil, errors.New("not closed")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}})
	if name := b.state(); name != "connecting" {
		t.Errorf("state %s, want connecting", name)
	}
}

// TestConnectionDuringTheEnd: while a lost program ends slowly, a new connection is made. Its state
// stays.
func TestConnectionDuringTheEnd(t *testing.T) {
	t.Parallel()
	ends, log := io.Pipe()
	o, started := programs(t, log)
	b := opened(t, o)
	b.ask(http.MethodGet, "/api/offers", "", nil)
	b.end(b.start(`{"method":"tools/call","name":"leave"}`))
	for started.Load() < 2 {
		b.ask(http.MethodGet, "/api/offers", "", nil)
	}
	if _, err := ends.Read(make([]byte, 4)); err != nil { // the first program ends
		t.Fatal(err)
	}
	for range 40 { // until the page has handled it
		if name := b.state(); name != "connected" {
			t.Fatalf("state %s after %d programs", name, started.Load())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestReadingStartsNoProgram: after a program has ended, only its user starts it again. A request that the
// page makes by itself is refused.
func TestReadingStartsNoProgram(t *testing.T) {
	t.Parallel()
	o, started := programs(t, nil)
	b := opened(t, o)
	b.ask(http.MethodGet, "/api/offers", "", nil)
	b.end(b.start(`{"method":"tools/call","name":"leave"}`))
	for deadline := time.Now().Add(10 * time.Second); b.state() != "ended"; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("state %s", b.state())
		}
	}
	for path, body := range map[string]string{"/api/offers": "", "/api/tasks": "", "/api/complete": `{"prompt":"p","argument":"a"}`, "/api/level": `{"level":"info"}`} {
		method := http.MethodPost
		if body == "" {
			method = http.MethodGet
		}
		if a := b.do(method, path, body, nil); a.status != http.StatusConflict || !strings.Contains(a.body, "connect") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if n := started.Load(); n != 1 || b.state() != "ended" {
		t.Errorf("%d programs were started, state %s", n, b.state())
	}
	if d := b.end(b.start(`{"method":"tools/call","name":"stay"}`)); d.Phase != "result" || started.Load() != 2 {
		t.Errorf("a call of the user: %+v, %d programs", d, started.Load())
	}
}
