// Package sigpipe keeps a process alive after the program that reads its output has died.
package sigpipe

import (
	"os"
	"os/signal"
	"syscall"
)

// Catch catches SIGPIPE for the rest of the process. If the client dies, nothing reads stdout
// and stderr any more, and the next write would raise SIGPIPE. The signal would kill the
// process with calls unfinished and OnStop not run. With the signal caught, the write returns
// an error instead.
//
// Catch does not ignore the signal, because child processes would inherit that.
func Catch() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
