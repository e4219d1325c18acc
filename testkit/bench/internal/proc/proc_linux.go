package proc

import (
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// CPU is the time that a process has computed so far, all its threads together.
func CPU(pid int) (time.Duration, error) {
	// The clock of a process by its scheduler's count, as linux/posix-timers.h makes it.
	const scheduled = 2
	clock := int32(^pid)<<3 | scheduled
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0, fmt.Errorf("reading the CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// bind has a program end with this one, however that ends: a bench that was killed must
// not leave servers that compute beside the next.
func bind(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
