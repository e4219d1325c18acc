//go:build unix

package stdio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// GuardStdout keeps the standard output for the protocol (2026-07-28
// basic/transports/stdio: nothing but messages on stdout). protocol is what was the
// standard output; from now on os.Stdout, its file descriptor and the standard output that
// child processes inherit lead to the standard error stream. On systems where file
// descriptors cannot be exchanged, only os.Stdout is replaced.
//
// restore undoes it and closes protocol; calling it again does nothing. A guard affects the
// whole process: it is not for concurrent use, and several must be restored in reverse
// order. The file itself stays open for a Write that is in progress.
func GuardStdout() (protocol *os.File, restore func(), err error) {
	stdout, stderr := unix.Stdout, unix.Stderr
	// Close-on-exec: a child must not get hold of the protocol under another
	// number, or the client would not see the end of the output with ours.
	fd, err := unix.FcntlInt(uintptr(stdout), unix.F_DUPFD_CLOEXEC, stderr+1)
	if err != nil {
		return nil, nil, fmt.Errorf("duplicating the standard output: %w", err)
	}
	if err := unix.Dup2(stderr, stdout); err != nil {
		_ = unix.Close(fd)
		return nil, nil, fmt.Errorf("leading the standard output to the standard error: %w", err)
	}
	protocol = os.NewFile(uintptr(fd), "stdout")
	var once sync.Once
	restore = func() {
		once.Do(func() {
			_ = unix.Dup2(fd, stdout)
			_ = protocol.Close()
		})
	}
	return protocol, restore, nil
}

// GuardStdin keeps the standard input for the protocol. protocol is what was the standard
// input; from now on os.Stdin, its file descriptor
// and the standard input that child processes inherit are the null device.
// Without it a child that inherits os.Stdin, or code that reads it, takes frames of the
// client away.
//
// restore undoes it; calling it again does nothing. A guard affects the whole process, as that
// of [GuardStdout] does. A Read of protocol that is in progress goes on after restore.
func GuardStdin() (protocol io.Reader, restore func(), err error) {
	stdin := unix.Stdin
	fd, err := unix.FcntlInt(uintptr(stdin), unix.F_DUPFD_CLOEXEC, unix.Stderr+1)
	if err != nil {
		return nil, nil, fmt.Errorf("duplicating the standard input: %w", err)
	}
	null, err := os.Open(os.DevNull)
	if err == nil {
		err = errors.Join(unix.Dup2(int(null.Fd()), stdin), null.Close())
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, nil, fmt.Errorf("leading the standard input to the null device: %w", err)
	}
	file := os.NewFile(uintptr(fd), "stdin")
	var once sync.Once
	restore = func() {
		once.Do(func() {
			_ = unix.Dup2(fd, stdin)
			_ = file.Close()
		})
	}
	return lasting{file}, restore, nil
}
