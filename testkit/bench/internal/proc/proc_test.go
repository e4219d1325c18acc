package proc_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/testkit/bench/internal/proc"
)

// TestCPU has this process compute, and looks at its clock from the outside.
func TestCPU(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("CPU clocks of processes are read on Linux only")
	}
	before, err := proc.CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	const some = 20 * time.Millisecond
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		after, err := proc.CPU(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if after-before > some {
			return
		}
	}
	t.Error("the clock of a process that computes stands still")
}

// asParent has the test binary start a program, say its id, and wait.
const asParent = "PROC_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(asParent) != "" {
		p, err := proc.Stdio(context.Background(), "sleep", nil, "600")
		if err != nil {
			panic(err)
		}
		_, _ = fmt.Println(p.PID())
		select {}
	}
	os.Exit(m.Run())
}

// TestParentKilled: a server does not outlive who started it.
func TestParentKilled(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("processes are bound to each other on Linux only")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), asParent+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	_, err = fmt.Fscan(out, &pid)
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	if err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") { // or who is to fetch it has not yet
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("it still runs: %s", stat)
		}
	}
}

func TestNoProcess(t *testing.T) {
	t.Parallel()
	// No system counts that far, and the number of a clock has room for it.
	if took, err := proc.CPU(1 << 27); err == nil {
		t.Errorf("a process that is not there has computed for %v", took)
	}
	if _, err := proc.HTTP(t.Context(), "/nonexistent/server", nil); err == nil {
		t.Error("it runs")
	}
}
