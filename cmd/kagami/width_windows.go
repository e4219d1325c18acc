package main

import (
	"os"

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
