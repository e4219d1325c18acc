//go:build unix

package group

import (
	"os/exec"
	"syscall"
)

// Set puts the program and its children in a process group of their own. A signal of the terminal
// does not reach them. Call Set before the program starts.
func Set(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// interrupt asks the program and its children to end. The command "go run" does not pass signals on
// to the program that it starts.
func interrupt(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }

// kill ends the program and its children.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
