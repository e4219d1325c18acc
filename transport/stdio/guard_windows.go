//go:build windows

package stdio

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/windows"
)

// GuardStdout keeps the standard output for the protocol (2026-07-28
// basic/transports/stdio: nothing but messages on stdout). protocol is what was
// the standard output; from now on os.Stdout and the process's standard handle,
// which child processes inherit, lead to the standard error stream.
//
// restore undoes it; calling it again does nothing. Guards are the whole
// process's: not for concurrent use, and to be restored in reverse order. Because
// os.Stdout is replaced, put it in place before other goroutines print.
func GuardStdout() (protocol *os.File, restore func(), err error) {
	handle, err := windows.GetStdHandle(windows.STD_OUTPUT_HANDLE)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the standard output handle: %w", err)
	}
	stderr := windows.Handle(os.Stderr.Fd())
	if err := windows.SetStdHandle(windows.STD_OUTPUT_HANDLE, stderr); err != nil {
		return nil, nil, fmt.Errorf("leading the standard output to the standard error: %w", err)
	}
	protocol, os.Stdout = os.Stdout, os.Stderr
	var once sync.Once
	restore = func() {
		once.Do(func() {
			_ = windows.SetStdHandle(windows.STD_OUTPUT_HANDLE, handle)
			os.Stdout = protocol
		})
	}
	return protocol, restore, nil
}
