//go:build !unix && !windows

package stdio

import (
	"fmt"
	"io"
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

// GuardStdin keeps the standard input for the protocol. protocol is what was the standard
// input; from now on os.Stdin and the standard input that child processes inherit are the null device.
// Without it a child that inherits os.Stdin, or code that reads it, takes frames of the
// client away.
//
// restore undoes it; calling it again does nothing. A guard affects the whole process, as that
// of [GuardStdout] does. A Read of protocol that is in progress goes on after restore.
func GuardStdin() (protocol io.Reader, restore func(), err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the null device: %w", err)
	}
	file := os.Stdin
	os.Stdin = null
	var once sync.Once
	restore = func() {
		once.Do(func() {
			os.Stdin = file
			_ = null.Close()
		})
	}
	return lasting{file}, restore, nil
}
