package oauth

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// private returns nil. The access list of the directory with the user's configuration excludes
// other users. Other directories are not checked.
func private(string, fs.FileInfo) error { return nil }

// busy reports whether another process has the file open, for example a virus scanner. Windows then
// refuses to open, replace or remove the file.
func busy(err error) bool {
	return errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
}

func tryLock(file *os.File) (bool, error) {
	err := windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
