//go:build unix && !linux

package redisserver

import "syscall"

const (
	pause  = syscall.SIGSTOP
	resume = syscall.SIGCONT
)

func attributes() *syscall.SysProcAttr { return nil }
