package reactor

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// receive and send are read(2) and write(2) for sockets: the kernel goes a shorter way from recvfrom(2) and
// sendto(2), which a small call over HTTP notices (2 % of the server's CPU). Package unix has no function for
// them that says how much was sent, and sends to no address.

func receive(fd int, p []byte) (int, error) { return transfer(unix.SYS_RECVFROM, fd, p, 0) }

func send(fd int, p []byte) (int, error) { return transfer(unix.SYS_SENDTO, fd, p, unix.MSG_NOSIGNAL) }

// transfer makes one of the two calls. An n of an error is -1.
func transfer(call uintptr, fd int, p []byte, flags uintptr) (n int, err error) {
	r, _, errno := unix.Syscall6(call, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), flags, 0, 0) //nolint:gosec // how a system call gets its bytes
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil //nolint:gosec // not more than len(p)
}
