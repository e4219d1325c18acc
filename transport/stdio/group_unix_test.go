//go:build unix

package stdio_test

import (
	"errors"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/transport/stdio"
)

// TestCloseEndsChildren checks that Close ends the child of a process that passes no signals
// on, like npx.
func TestCloseEndsChildren(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", `sleep 600 & echo $!; trap "" TERM; wait`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	conn, err := stdio.Dial(t.Context(), cmd, stdio.Grace(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	line, err := conn.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(string(line))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close() // an error only means that the shell had to be killed
	for range 1000 {
		if errors.Is(syscall.Kill(child, 0), syscall.ESRCH) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	_ = syscall.Kill(child, syscall.SIGKILL)
	t.Error("the child still runs")
}
