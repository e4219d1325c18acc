//go:build !unix

package redisserver

import "syscall"

// There is no redis-server, and so nobody to be told.
const (
	pause  = syscall.SIGKILL
	resume = syscall.SIGKILL
)

func attributes() *syscall.SysProcAttr { return nil }
