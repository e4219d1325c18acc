// Package outlive is for programs that others start, and leave.
package outlive

import (
	"os"
	"os/signal"
	"syscall"
)

// Readers lets the process outlive who reads its streams. A client that dies takes all three
// of them with it, and the next line to stderr would be a SIGPIPE: calls would break off, and
// what was to be closed would not be. Now that Write fails.
//
// The signal is not ignored, since children would inherit that.
func Readers() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
