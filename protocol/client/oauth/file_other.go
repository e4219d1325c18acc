//go:build !windows && (!unix || aix || solaris)

package oauth

import (
	"errors"
	"io/fs"
	"os"
)

func private(string, fs.FileInfo) error { return nil }

func busy(error) bool { return false }

func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }
