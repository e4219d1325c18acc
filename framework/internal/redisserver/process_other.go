//go:build !unix

package redisserver

import "syscall"

// There is no redis-server on these systems, so these signals are never sent.
const (
	pause  = syscall.SIGKILL
	resume = syscall.SIGKILL
)

func attributes() *syscall.SysProcAttr { return nil }
