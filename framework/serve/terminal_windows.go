package serve

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// isNull reports whether a character device is not a console. os.SameFile does not help, because it
// takes every console for the null device (golang/go#62042).
func isNull(f *os.File, _ fs.FileInfo) bool {
	var mode uint32
	return windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) != nil
}
