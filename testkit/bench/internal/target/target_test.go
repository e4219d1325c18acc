package target_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/target"
)

// asServer makes the test binary a server that echoes.
const asServer = "TARGET_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		os.Exit(target.MainEcho(context.Background(), func(e *target.Echo) target.Server {
			return target.Server{Stdio: func(_ context.Context, in io.Reader, out io.Writer) error { return echo(e, in, out) }}
		}))
	}
	os.Exit(m.Run())
}

// echo is for one request at a time.
func echo(e *target.Echo, in io.Reader, out io.Writer) error {
	read := make([]byte, 4<<10)
	for {
		n, err := in.Read(read)
		if answer := e.Append(nil, read[:n]); len(answer) > 0 {
			if _, err := out.Write(append(answer, '\n')); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func command(t *testing.T, sample string, args ...string) *exec.Cmd {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sample")
	if err := os.WriteFile(file, []byte(sample), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Env = append(os.Environ(), asServer+"=1", target.SampleVar+"="+file)
	return cmd
}

const sample = `{"jsonrpc":"2.0","id":1000000001,"result":{"n":1}}`

func TestEcho(t *testing.T) {
	t.Parallel()
	cmd := command(t, sample)
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1234567890,"method":"tools/call"}` + "\n")
	out, err := cmd.Output()
	if want := strings.Replace(sample, "1000000001", "1234567890", 1) + "\n"; err != nil || string(out) != want {
		t.Errorf("%q, %v", out, err)
	}
}

func TestEchoWithoutID(t *testing.T) {
	t.Parallel()
	cmd := command(t, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err == nil || !strings.Contains(errs.String(), "ten digits") {
		t.Errorf("%v: %s", err, &errs)
	}
}

func TestEchoWaits(t *testing.T) {
	t.Parallel()
	cmd := command(t, sample)
	cmd.Env = append(cmd.Env, target.WaitVar+"=50ms")
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1234567890,"method":"tools/call"}` + "\n")
	start := time.Now()
	out, err := cmd.Output()
	if took := time.Since(start); err != nil || len(out) == 0 || took < 50*time.Millisecond {
		t.Errorf("%q after %v, %v", out, took, err)
	}
	cmd = command(t, sample)
	cmd.Env = append(cmd.Env, target.WaitVar+"=soon")
	if err := cmd.Run(); err == nil {
		t.Error("it waits for soon")
	}
}

func TestPipe(t *testing.T) {
	t.Parallel()
	out, err := command(t, sample, target.PipeCommand, "add", `{"a":1}`, "50").Output()
	if err != nil {
		t.Fatal(err)
	}
	var cost target.Piped
	if err := json.Unmarshal(out, &cost); err != nil || cost.Nanoseconds <= 0 {
		t.Fatalf("%s: %v", out, err)
	}
	// The echo makes one slice a call, and its growth; the client none.
	if cost.Allocations < 1 || cost.Allocations > 4 {
		t.Errorf("%v allocations a call", cost.Allocations)
	}
}

func TestPipeUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"add", "{}"}, {"add", "{}", "none"}, {"add", "{}", "0"}} {
		err := target.Pipe(t.Context(), args, io.Discard, func(context.Context, io.Reader, io.Writer) error { return nil })
		if err == nil {
			t.Errorf("%q is understood", args)
		}
	}
}
