//go:build windows

package stdio

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/windows"
)

// GuardStdout reserves the standard output for the protocol (2026-07-28 basic/transports/stdio:
// only messages on stdout). protocol is the original standard output. os.Stdout, and the process's
// standard handle, which child processes inherit, become the standard error stream.
//
// restore undoes the guard; further calls have no effect. A guard affects the whole process. Guards
// must not be used concurrently, and must be restored in reverse order. Call GuardStdout before
// other goroutines print, because it replaces os.Stdout.
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

// GuardStdin reserves the standard input for the protocol. protocol is the original standard input.
// os.Stdin, the process's standard handle, and the standard input that child processes inherit
// become the null device. Otherwise a child process, or code that reads os.Stdin, would consume
// frames of the client.
//
// restore undoes the guard; further calls have no effect. A guard affects the whole process, in the
// same way as [GuardStdout]. A Read of protocol that is in progress goes on after restore.
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
