package group

import (
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/windows"
)

// Set puts the program and its children in a process group of their own. Ctrl-C in the console does
// not reach them. Call Set before the program starts.
func Set(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil { // otherwise it has the command line of a batch file
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.CreationFlags |= windows.CREATE_NEW_PROCESS_GROUP
}

// interrupt asks the program and its children to end. It sends Ctrl-Break, which Go programs receive as
// os.Interrupt. Without a console, as in a service, it returns an error.
func interrupt(cmd *exec.Cmd) error {
	return windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(cmd.Process.Pid)) //nolint:gosec // a process id is a DWORD
}

// kill ends the program and its children.
func kill(cmd *exec.Cmd) {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run() //nolint:noctx // it ends at once
	_ = cmd.Process.Kill()
}
