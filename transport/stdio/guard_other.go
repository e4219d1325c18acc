//go:build !unix && !windows

package stdio

import (
	"os"
	"sync"
)

// GuardStdout keeps the standard output for the protocol. On this system it can
// only replace os.Stdout by os.Stderr: child processes are not covered.
//
// restore undoes it; calling it again does nothing. Guards are the whole
// process's: not for concurrent use, and to be restored in reverse order. Because
// os.Stdout is replaced, put it in place before other goroutines print.
func GuardStdout() (protocol *os.File, restore func(), err error) {
	protocol, os.Stdout = os.Stdout, os.Stderr
	var once sync.Once
	return protocol, func() { once.Do(func() { os.Stdout = protocol }) }, nil
}
