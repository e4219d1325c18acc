package proc_test

import (
	"os"
	"runtime"
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
