//go:build !unix

package stdio

import (
	"os/exec"
	"syscall"
)

// signal sends a signal to the process. Windows has only SIGKILL.
func signal(cmd *exec.Cmd, s syscall.Signal) error { return cmd.Process.Signal(s) }
