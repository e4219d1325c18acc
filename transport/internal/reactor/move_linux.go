package reactor

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// move makes the connection a member of its loop, or lets it wait for itself again, if it is to and nothing is being
// written. It is called by a Read that holds c.mu.
func (c *Conn) move() {
	busy, member := c.loop.busy.Load(), c.tcp == nil
	if busy == member || c.closed || !c.writing.TryLock() {
		return
	}
	defer c.writing.Unlock()
	if busy {
		c.join()
		return
	}
	c.leave()
}

// join makes the connection a member, by another descriptor of which Go's own poller knows nothing. If that
// cannot be, it waits for itself as before.
func (c *Conn) join() {
	raw, err := c.tcp.SyscallConn()
	if err != nil {
		return
	}
	var failed error
	err = raw.Control(func(fd uintptr) { c.fd, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	if errors.Join(err, failed) != nil {
		return
	}
	if c.loop.add(c) != nil {
		_ = unix.Close(c.fd)
		return
	}
	_ = c.tcp.Close() // the socket has the other descriptor
	c.tcp = nil
	c.readable, c.special, c.owing = false, false, false // the first event says what there is
	if c.woken == nil {
		c.woken, c.space = make(chan struct{}, 1), make(chan struct{}, 1)
	}
	c.setTimers()
}

// leave lets the connection wait for itself. If that cannot be, it remains a member.
func (c *Conn) leave() {
	c.push()
	if len(c.queued) > 0 || c.unsent != nil {
		return
	}
	tcp, err := c.another()
	if err != nil {
		return
	}
	c.loop.remove(c)
	_ = unix.Close(c.fd)
	c.readEnd.stop()
	c.writeEnd.stop()
	c.tcp = tcp
	_ = tcp.SetReadDeadline(c.readEnd.at)
	_ = tcp.SetWriteDeadline(c.writeEnd.at)
	c.crowd = crowd{last: c.loop.reads.Load()}
}

// another makes a connection of package net with the socket of a member.
func (c *Conn) another() (*net.TCPConn, error) {
	fd, err := unix.FcntlInt(uintptr(c.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "tcp")
	was := c.options()
	conn, err := net.FileConn(file) // which has yet another, and sets options of the socket
	_ = file.Close()
	if err != nil {
		return nil, err
	}
	c.restore(was)
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil, errors.Join(errors.ErrUnsupported, conn.Close())
	}
	return tcp, nil
}

// kept are the options that package net sets when it makes a connection.
var kept = [...]struct{ level, name int }{
	{unix.IPPROTO_TCP, unix.TCP_NODELAY},
	{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE},
	{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL},
	{unix.IPPROTO_TCP, unix.TCP_KEEPCNT},
	{unix.SOL_SOCKET, unix.SO_KEEPALIVE},
}

func (c *Conn) options() (values [len(kept)]int) {
	for i, o := range kept {
		values[i], _ = unix.GetsockoptInt(c.fd, o.level, o.name) // it is a socket of TCP
	}
	return values
}

func (c *Conn) restore(values [len(kept)]int) {
	for i, o := range kept {
		_ = unix.SetsockoptInt(c.fd, o.level, o.name, values[i])
	}
}
