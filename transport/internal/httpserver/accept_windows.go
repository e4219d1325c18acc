package httpserver

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// Errors of Accept. The constants of package syscall with the names of Unix are numbers that Windows
// never returns.
const errAborted = windows.WSAECONNABORTED

func shortages() []syscall.Errno { return []syscall.Errno{windows.WSAEMFILE, windows.WSAENOBUFS} }

const moreConnections = "use fewer connections"
