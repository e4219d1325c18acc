package main

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

// patiently calls do again for a while if it fails on Windows, where a file cannot be replaced or
// removed while another program has it open, such as a virus scanner.
func patiently(do func() error) error {
	err := do()
	for end := time.Now().Add(2 * time.Second); err != nil && runtime.GOOS == "windows" && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		err = do()
	}
	return err
}

// removeAll removes a directory with a program that has just ended. Windows may keep its file open for
// a moment.
func removeAll(dir string) error { return patiently(func() error { return os.RemoveAll(dir) }) }

// replaceProgram renames the file next to place, where a client may be running the old file. Windows
// does not replace a program that runs, but can rename it. After an error the old file is in its place.
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
		if err = patiently(func() error { return os.Rename(next, place) }); err != nil {
			_ = os.Rename(old, place)
		}
		return err
	}
	return err
}
