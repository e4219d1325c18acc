package httpserver

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// errAborted is the error of Accept for a client that has disconnected. Windows never returns the
// numbers that package syscall has for the names of Unix, such as syscall.ECONNABORTED.
const errAborted = windows.WSAECONNABORTED

// shortages returns the errors of Accept for a lack of handles or memory.
func shortages() []syscall.Errno { return []syscall.Errno{windows.WSAEMFILE, windows.WSAENOBUFS} }

const moreConnections = "use fewer connections"
