package main

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

// retryOnWindows calls do. On Windows, while do fails, it calls do again for up to two seconds. Windows cannot
// replace or remove a file that another program, such as a virus scanner, has open.
func retryOnWindows(do func() error) error {
	err := do()
	for end := time.Now().Add(2 * time.Second); err != nil && runtime.GOOS == "windows" && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		err = do()
	}
	return err
}

// removeAll removes a directory with a program that has just ended. Windows may keep the file of the
// program open for a moment.
func removeAll(dir string) error { return retryOnWindows(func() error { return os.RemoveAll(dir) }) }

// replaceProgram gives the file next the name place, and replaces the file there. A client may be running
// the old file. Windows cannot replace a running program, but can rename it. After an error, place is
// still the old file.
func replaceProgram(next, place string) error {
	err := os.Rename(next, place)
	if err == nil {
		return nil
	}
	for i := range 10 { // earlier programs may still run
		old := fmt.Sprintf("%s.old%d", place, i)
		_ = os.Remove(old)
		if os.Rename(place, old) != nil {
			continue
		}
		if err = retryOnWindows(func() error { return os.Rename(next, place) }); err != nil {
			_ = os.Rename(old, place)
		}
		return err
	}
	return err
}
