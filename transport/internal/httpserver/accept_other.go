//go:build !windows

package httpserver

import "syscall"

// Errors of Accept: a client that has disconnected, and shortages (accept(2) of Linux).
const errAborted = syscall.ECONNABORTED

func shortages() []syscall.Errno {
	return []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM}
}

const moreConnections = "raise the limit of file descriptors (ulimit -n), or use fewer connections and files"
