//go:build unix

package oauth

import (
	"os/exec"
	"syscall"
)

// apart starts the program in a process group of its own. Otherwise Ctrl-C for this process would
// also end a browser that was started for the login, with all of its pages.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
