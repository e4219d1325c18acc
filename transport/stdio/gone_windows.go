package stdio

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// closedByPeer returns the errors of a pipe or socket that the peer has closed. Windows itself never
// returns EPIPE or ECONNRESET, but Go code may.
func closedByPeer() []syscall.Errno {
	return []syscall.Errno{
		syscall.EPIPE, windows.ERROR_BROKEN_PIPE, windows.ERROR_NO_DATA, windows.ERROR_PIPE_NOT_CONNECTED,
		syscall.ECONNRESET, windows.WSAECONNRESET, windows.WSAECONNABORTED,
	}
}
