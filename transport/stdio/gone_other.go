//go:build !windows

package stdio

import "syscall"

// closedByPeer returns the errors of a pipe or socket that the peer has closed.
func closedByPeer() []syscall.Errno { return []syscall.Errno{syscall.EPIPE, syscall.ECONNRESET} }
