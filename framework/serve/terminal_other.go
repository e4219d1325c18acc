//go:build !windows

package serve

import (
	"io/fs"
	"os"
)

// isNull reports whether a character device is the null device.
func isNull(_ *os.File, info fs.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(info, null)
}
