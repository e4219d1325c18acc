//go:build unix

package main

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// widthOf returns the columns of a terminal, or 0.
func widthOf(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

// isUnread reports whether the program that read our output has ended.
func isUnread(err error) bool { return errors.Is(err, syscall.EPIPE) }

// isRefused reports whether nothing listens at an address.
func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// enableEscapes reports whether a terminal interprets escape sequences.
func enableEscapes(*os.File) bool { return true }
