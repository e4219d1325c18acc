//go:build unix && !aix && !solaris

package oauth

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// private checks that only this user can read a file or directory.
func private(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o077 != 0 {
		return because(ErrStore, fmt.Errorf("%s can be used by others (mode %04o): run chmod go= on it", path, info.Mode().Perm()))
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return because(ErrStore, fmt.Errorf("%s belongs to another user (%d)", path, stat.Uid))
	}
	return nil
}

// busy returns false: an open file can be replaced and removed.
func busy(error) bool { return false }

func tryLock(file *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		}
		return false, err
	}
}
