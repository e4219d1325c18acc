//go:build !unix

package redisserver

import "syscall"

// These signals are never sent, because redis-server does not run on these systems.
const (
	pause  = syscall.SIGKILL
	resume = syscall.SIGKILL
)

func attributes() *syscall.SysProcAttr { return nil }
