//go:build windows

package stdio

import (
	"fmt"
	"io"
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

// GuardStdin keeps the standard input for the protocol. protocol is what was the standard
// input; from now on os.Stdin, the process's standard handle
// and the standard input that child processes inherit are the null device.
// Without it a child that inherits os.Stdin, or code that reads it, takes frames of the
// client away.
//
// restore undoes it; calling it again does nothing. A guard affects the whole process, as that
// of [GuardStdout] does. A Read of protocol that is in progress goes on after restore.
func GuardStdin() (protocol io.Reader, restore func(), err error) {
	handle, err := windows.GetStdHandle(windows.STD_INPUT_HANDLE)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the standard input handle: %w", err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the null device: %w", err)
	}
	if err := windows.SetStdHandle(windows.STD_INPUT_HANDLE, windows.Handle(null.Fd())); err != nil {
		_ = null.Close()
		return nil, nil, fmt.Errorf("leading the standard input to the null device: %w", err)
	}
	file := os.Stdin
	os.Stdin = null
	var once sync.Once
	restore = func() {
		once.Do(func() {
			_ = windows.SetStdHandle(windows.STD_INPUT_HANDLE, handle)
			os.Stdin = file
			_ = null.Close()
		})
	}
	return lasting{file}, restore, nil
}
