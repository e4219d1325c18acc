package redisserver

import "syscall"

const (
	pause  = syscall.SIGSTOP
	resume = syscall.SIGCONT
)

// attributes end the server with a test process that is killed and cleans nothing up.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
