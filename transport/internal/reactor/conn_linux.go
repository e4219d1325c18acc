package reactor

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Conn is a TCP connection that waits for itself, or is a member of a loop. It is a net.Conn as any other, but for
// one thing: the first Write after a Read may return before the kernel has its bytes. They are written soon, before
// those of a later Write, and also if the connection is closed; if they cannot be, the next Write says so.
type Conn struct {
	loop          *loop
	local, remote net.Addr

	reading sync.Mutex    // held by a Read
	crowd   crowd         // of Read
	writing sync.Mutex    // held by a Write
	woken   chan struct{} // of a member, 1-buffered: the Read that waits has a result
	space   chan struct{} // of a member, 1-buffered: the Write that waits may go on

	mu       sync.Mutex // guards the fields below and the descriptor; held for system calls that do not wait
	closed   bool
	readEnd  deadline
	writeEnd deadline

	tcp *net.TCPConn // which waits for itself; nil: it is a member
	fd  int          // of a member

	readable bool   // there may be something to read
	special  bool   // that is so until it is tried: there was, or is, more than bytes to read
	into     []byte // of the Read that waits; nil: none does
	n        int    // its result
	err      error  // its result

	owing  bool   // something was read, and nothing written since
	queued []byte // is written before anything else
	full   bool   // a Write waits for space
	unsent error  // why queued could not be written
}

func newConn(on *loop, tcp *net.TCPConn) *Conn {
	return &Conn{loop: on, tcp: tcp, local: tcp.LocalAddr(), remote: tcp.RemoteAddr()}
}

// Read reads what is there, or waits for it.
func (c *Conn) Read(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	c.mu.Lock()
	c.move()
	if tcp := c.tcp; tcp != nil {
		c.mu.Unlock()
		n, err := tcp.Read(p)
		if err == nil {
			c.crowd.count(c.loop)
		}
		return n, err
	}
	n, err := c.read(p)
	if !errors.Is(err, unix.EAGAIN) {
		defer c.mu.Unlock()
		return n, c.failure("read", err)
	}
	c.into = p
	c.mu.Unlock()
	<-c.woken
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n, c.failure("read", c.err)
}

// read reads what is there; EAGAIN: there is nothing. The caller holds c.mu.
func (c *Conn) read(p []byte) (int, error) {
	switch {
	case c.closed:
		return 0, net.ErrClosed
	case c.readEnd.passed:
		return 0, os.ErrDeadlineExceeded
	case len(p) == 0:
		return 0, nil
	case !c.readable:
		return 0, unix.EAGAIN
	}
	n, err := again(func() (int, error) { return receive(c.fd, p) })
	switch {
	case err != nil:
		c.readable = !errors.Is(err, unix.EAGAIN)
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	// Less than was asked for is all there is, and more will be another event. But the end has been one already,
	// and a read ends at an urgent byte, too (tcp(7)).
	c.readable = n == len(p) || c.special
	c.owing = true
	return n, nil
}

// again makes a system call until no signal interrupts it. n is not negative.
func again(call func() (int, error)) (n int, err error) {
	for {
		n, err = call()
		if !errors.Is(err, unix.EINTR) {
			return max(n, 0), err
		}
	}
}

// Events of a descriptor.
const (
	readable = unix.EPOLLIN | unix.EPOLLPRI | unix.EPOLLRDHUP
	special  = unix.EPOLLPRI | unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
)

// event takes an event of a member. It reports whether the Read that waited has a result, so that it must be woken.
func (c *Conn) event(is uint32) (wake bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.tcp != nil {
		return false
	}
	c.special = c.special || is&special != 0
	c.readable = c.readable || is&(readable|special) != 0
	if is&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		c.push()
		c.goOn()
	}
	if c.into == nil {
		return false
	}
	n, err := c.read(c.into)
	if errors.Is(err, unix.EAGAIN) {
		return false
	}
	c.into, c.n, c.err = nil, n, err
	return true
}

// fail ends the Read that waits. The caller holds c.mu.
func (c *Conn) fail(err error) {
	if c.into != nil {
		c.into, c.n, c.err = nil, 0, err
		c.woken <- struct{}{}
	}
}

// Write writes p, or puts it down for the loop if that is about to write. Then it is copied.
func (c *Conn) Write(p []byte) (int, error) { return c.send(p, nil) }

// Together writes head and p as one Write would. n counts what was written of both.
func (c *Conn) Together(head, p []byte) (n int, err error) { return c.send(head, p) }

// send writes p and more, of which more may be nil.
func (c *Conn) send(p, more []byte) (n int, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	tcp := c.tcp
	if tcp != nil {
		c.mu.Unlock() // it does not move, since this is a Write
		return writeBoth(tcp, p, more)
	}
	n, due, err := c.write(p, more)
	c.mu.Unlock()
	if due {
		c.loop.write()
	}
	return n, err
}

// write is send for a member. The caller holds c.mu. If it is due, the caller calls the loop's write.
func (c *Conn) write(p, more []byte) (n int, due bool, err error) {
	if c.answers() && more == nil {
		if c.queued, due = c.loop.put(c, p); c.queued != nil {
			return len(p), due, nil
		}
	}
	for n < len(p)+len(more) {
		m, err := c.sendNow(p[min(n, len(p)):], more[max(0, n-len(p)):])
		n += m
		switch {
		case err == nil:
		case errors.Is(err, unix.EAGAIN):
			c.await()
		default:
			return n, due, c.failure("write", err)
		}
	}
	return n, due, nil
}

func writeBoth(tcp *net.TCPConn, p, more []byte) (int, error) {
	if more == nil {
		return tcp.Write(p)
	}
	both := net.Buffers{p, more}
	n, err := both.WriteTo(tcp)
	return int(n), err
}

// answers reports whether what is to be written is the answer to what was read, and the first thing to be written. The
// caller holds c.mu.
func (c *Conn) answers() bool {
	owing := c.owing
	c.owing = false
	return owing && !c.closed && c.unsent == nil && !c.writeEnd.passed && len(c.queued) == 0
}

// sendNow writes what is queued, and then what the socket takes of p and more. The caller holds c.mu.
func (c *Conn) sendNow(p, more []byte) (n int, err error) {
	switch {
	case c.closed:
		return 0, net.ErrClosed
	case c.writeEnd.passed:
		return 0, os.ErrDeadlineExceeded
	}
	c.push()
	switch {
	case c.unsent != nil:
		return 0, c.unsent
	case len(c.queued) > 0:
		return 0, unix.EAGAIN
	case len(more) == 0:
		return again(func() (int, error) { return send(c.fd, p) })
	}
	return again(func() (int, error) { return unix.Writev(c.fd, [][]byte{p, more}) })
}

// push writes what is queued, as far as the socket takes it. The caller holds c.mu.
func (c *Conn) push() {
	if len(c.queued) == 0 {
		return
	}
	n, err := again(func() (int, error) { return send(c.fd, c.queued) })
	rest := c.queued[n:]
	c.queued = nil
	switch {
	case err != nil && !errors.Is(err, unix.EAGAIN):
		c.unsent = err
	case len(rest) > 0:
		c.queued = bytes.Clone(rest) // it was the loop's memory
	}
}

// flush writes what was put down.
func (c *Conn) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.push()
}

// await waits until the socket takes more, or a deadline has come. The caller holds c.mu, which is free
// meanwhile.
func (c *Conn) await() {
	c.full = true
	c.mu.Unlock()
	<-c.space
	c.mu.Lock()
}

// goOn lets the Write that waits go on. The caller holds c.mu.
func (c *Conn) goOn() {
	if c.full {
		c.full = false
		c.space <- struct{}{}
	}
}

// failure is err as those of package net are.
func (c *Conn) failure(op string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	if errno, ok := errors.AsType[unix.Errno](err); ok {
		err = os.NewSyscallError(op, errno)
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

// Close writes what is queued and closes the connection.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.failure("close", net.ErrClosed)
	}
	c.closed = true
	c.readEnd.stop()
	c.writeEnd.stop()
	if c.tcp != nil {
		return c.tcp.Close()
	}
	c.finish()
	c.fail(net.ErrClosed)
	c.goOn()
	c.loop.remove(c)
	return os.NewSyscallError("close", unix.Close(c.fd))
}

// parting is how long a client may take to read what was put down before the connection was closed.
const parting = 10 * time.Second

// finish is called when nothing more will be written. If the socket does not take all that is queued, the rest is
// written, and the writing ended, beside what the caller does; see Wait. The caller holds c.mu.
func (c *Conn) finish() (beside bool) {
	c.push()
	rest := c.queued
	c.queued = nil
	if len(rest) == 0 || c.unsent != nil {
		return false
	}
	c.unsent = unix.EPIPE
	tcp, err := c.another()
	if err != nil {
		return false
	}
	c.loop.parting.Join()
	go func() {
		defer c.loop.parting.End()
		defer func() { _ = tcp.Close() }()
		_ = tcp.SetWriteDeadline(time.Now().Add(parting))
		if _, err := tcp.Write(rest); err == nil {
			_ = tcp.CloseWrite()
		}
	}()
	return true
}

// CloseWrite ends what is written: the client reads an end.
func (c *Conn) CloseWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.tcp != nil:
		return c.tcp.CloseWrite()
	case c.closed:
		return c.failure("close", net.ErrClosed)
	}
	if c.finish() {
		return nil
	}
	return os.NewSyscallError("shutdown", unix.Shutdown(c.fd, unix.SHUT_WR))
}

// LocalAddr is that of the socket.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr is the client's.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }
