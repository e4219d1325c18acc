//go:build unix

package stdio

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// signal sends a signal to the process, or to its group if the process leads one. Programs such as npx
// do not pass signals on to the server that they have started.
func signal(cmd *exec.Cmd, s syscall.Signal) error {
	if cmd.SysProcAttr == nil || !cmd.SysProcAttr.Setpgid || cmd.SysProcAttr.Pgid != 0 {
		return cmd.Process.Signal(s)
	}
	err := syscall.Kill(-cmd.Process.Pid, s)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
