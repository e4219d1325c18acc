package main

import (
	"os"
	"runtime"
	"time"
)

// removeAll removes a directory with a program that has just ended. Windows refuses this for a
// moment, also while a virus scanner reads the file.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	for end := time.Now().Add(2 * time.Second); err != nil && runtime.GOOS == "windows" && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		err = os.RemoveAll(dir)
	}
	return err
}

// replaceProgram renames the file next to place, where a client may be running the old file. Windows
// does not replace a program that runs, but can rename it.
func replaceProgram(next, place string) error {
	err := os.Rename(next, place)
	if err == nil {
		return nil
	}
	old := place + ".old"
	_ = os.Remove(old) // of the last time
	if os.Rename(place, old) != nil {
		return err
	}
	return os.Rename(next, place)
}
