package main

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/windows"
)

// useCmdExe makes cmd.exe start the program of cmd.Args if it is a batch file. After a change of
// cmd.Args, call it again.
func useCmdExe(cmd *exec.Cmd) {
	program, err := exec.LookPath(cmd.Args[0])
	if err != nil || !isBatch(program, runtime.GOOS) {
		return
	}
	system, err := windows.GetSystemDirectory()
	if err != nil {
		return
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: batchLine(program, cmd.Args[1:])}
	cmd.Path = filepath.Join(system, "cmd.exe")
}
