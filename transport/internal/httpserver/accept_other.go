//go:build !windows

package httpserver

import "syscall"

// errAborted is the error of Accept for a client that has disconnected (accept(2) of Linux).
const errAborted = syscall.ECONNABORTED

// shortages returns the errors of Accept for a lack of descriptors or memory (accept(2) of Linux).
func shortages() []syscall.Errno {
	return []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM}
}

const moreConnections = "raise the limit of file descriptors (ulimit -n), or use fewer connections and files"
