package main

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// widthOf returns the columns of a terminal, or 0.
func widthOf(f *os.File) int {
	var info windows.ConsoleScreenBufferInfo
	if err := windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &info); err != nil {
		return 0
	}
	return int(info.Window.Right-info.Window.Left) + 1
}

// isUnread reports whether the program that read our output has ended.
func isUnread(err error) bool {
	return errors.Is(err, windows.ERROR_NO_DATA) || errors.Is(err, windows.ERROR_BROKEN_PIPE)
}

// isRefused reports whether nothing listens at an address. No system call of Windows returns
// ECONNREFUSED.
func isRefused(err error) bool {
	return errors.Is(err, windows.WSAECONNREFUSED) || errors.Is(err, syscall.ECONNREFUSED)
}

// enableEscapes makes a console interpret escape sequences, and reports whether it can. Consoles before
// Windows 10 cannot. Later consoles print them as text unless the program sets this mode.
func enableEscapes(f *os.File) bool {
	console := windows.Handle(f.Fd())
	var mode uint32
	err := windows.GetConsoleMode(console, &mode)
	return err == nil && windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
