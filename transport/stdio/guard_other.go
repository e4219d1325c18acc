//go:build !unix && !windows

package stdio

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// GuardStdout reserves the standard output for the protocol. On this system it can only replace
// os.Stdout by os.Stderr; it does not affect child processes. protocol is the original standard
// output.
//
// restore undoes the guard; further calls have no effect. A guard affects the whole process. Guards
// must not be used concurrently, and must be restored in reverse order. Call GuardStdout before
// other goroutines print, because it replaces os.Stdout.
func GuardStdout() (protocol *os.File, restore func(), err error) {
	protocol, os.Stdout = os.Stdout, os.Stderr
	var once sync.Once
	return protocol, func() { once.Do(func() { os.Stdout = protocol }) }, nil
}

// GuardStdin reserves the standard input for the protocol. protocol is the original standard input.
// os.Stdin, and the standard input that child processes inherit from it, become the null device.
// Otherwise a child process, or code that reads os.Stdin, would consume frames of the client.
//
// restore undoes the guard; further calls have no effect. A guard affects the whole process, in the
// same way as [GuardStdout]. A Read of protocol that is in progress goes on after restore.
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
