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

// GuardStdout reserves the standard output for the protocol (2026-07-28 basic/transports/stdio:
// only messages on stdout). protocol is the original standard output. os.Stdout, its file
// descriptor, and the standard output that child processes inherit become the standard error
// stream. On systems where file descriptors cannot be exchanged, GuardStdout only replaces
// os.Stdout.
//
// restore undoes the guard and closes protocol; further calls have no effect. A guard affects the
// whole process. Guards must not be used concurrently, and must be restored in reverse order. The
// file stays open until a Write that is in progress returns.
func GuardStdout() (protocol *os.File, restore func(), err error) {
	stdout, stderr := unix.Stdout, unix.Stderr
	// Close-on-exec: if a child inherited the protocol under another number, the client would not
	// see the end of the output when this process ends.
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

// GuardStdin reserves the standard input for the protocol. protocol is the original standard input.
// os.Stdin, its file descriptor, and the standard input that child processes inherit become the
// null device. Otherwise a child process, or code that reads os.Stdin, would consume frames of the
// client.
//
// restore undoes the guard; further calls have no effect. A guard affects the whole process, in the
// same way as [GuardStdout]. A Read of protocol that is in progress goes on after restore.
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
