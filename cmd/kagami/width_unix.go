//go:build unix

package main

import (
	"os"

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
