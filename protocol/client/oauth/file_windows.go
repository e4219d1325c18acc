package oauth

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// private relies on the directory of the user's configuration, whose access list excludes others.
func private(string, fs.FileInfo) error { return nil }

func tryLock(file *os.File) (bool, error) {
	err := windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
