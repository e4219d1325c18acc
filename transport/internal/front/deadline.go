package front

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// movable is a connection whose deadlines are cheap to move, as happens for each request: the runtime
// is told of a later deadline only when the one that it knows has expired.
type movable struct {
	net.Conn
	reading, writing deadline

	parts [2][]byte   // for write: the two parts
	whole net.Buffers // for write: what of them is still to be written
}

// cheaper makes the deadlines of a socket cheap to move. Other connections are returned unchanged,
// because their deadline errors may differ.
func cheaper(conn net.Conn) net.Conn {
	switch conn.(type) {
	case *net.TCPConn, *net.UnixConn, joining:
		return &movable{Conn: conn}
	}
	return conn
}

// joining is a connection of package reactor.
type joining interface {
	Together(head, p []byte) (int, error)
}

// Read fails when the deadline that was set last has come, and no earlier one.
func (c *movable) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if n > 0 || err == nil || !c.reading.renew(err, c.Conn.SetReadDeadline) {
			return n, err
		}
	}
}

// Write fails when the deadline that was set last has come, and no earlier one.
func (c *movable) Write(p []byte) (n int, err error) {
	for {
		var m int
		m, err = c.Conn.Write(p[n:])
		n += m
		if err == nil || !c.writing.renew(err, c.Conn.SetWriteDeadline) {
			return n, err
		}
	}
}

// write writes head and p in one system call. Not to be called concurrently.
func (c *movable) write(head, p []byte) error {
	if conn, ok := c.Conn.(joining); ok {
		return c.join(conn, head, p)
	}
	c.parts = [2][]byte{head, p}
	c.whole = c.parts[:] // which becomes what is still to be written
	defer func() { c.parts, c.whole = [2][]byte{}, nil }()
	for {
		_, err := c.whole.WriteTo(c.Conn)
		if err == nil || !c.writing.renew(err, c.Conn.SetWriteDeadline) {
			return err
		}
	}
}

// join is write for a connection of package reactor.
func (c *movable) join(conn joining, head, p []byte) error {
	for {
		n, err := conn.Together(head, p)
		if err == nil || !c.writing.renew(err, c.Conn.SetWriteDeadline) {
			return err
		}
		head, p = head[min(n, len(head)):], p[max(0, n-len(head)):]
	}
}

// SetDeadline sets both.
func (c *movable) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline ends a Read that waits, too.
func (c *movable) SetReadDeadline(t time.Time) error {
	return c.reading.move(t, c.Conn.SetReadDeadline)
}

// SetWriteDeadline ends a Write that waits, too.
func (c *movable) SetWriteDeadline(t time.Time) error {
	return c.writing.move(t, c.Conn.SetWriteDeadline)
}

// deadline is that of one direction.
type deadline struct {
	mu     sync.Mutex // guards the fields below, and what the runtime is told
	wanted time.Time  // what was set last; zero: none
	told   time.Time  // what the runtime was told: never later than wanted; zero: none
}

// move sets the deadline. The runtime is told only if it knows of none, or of a later one:
// otherwise the Read or Write wakes at the earlier one and calls renew. What counts then is
// the deadline that is wanted at that time, so that whoever interrupts a Read by a deadline
// in the past must wait for its end before setting another.
func (d *deadline) move(t time.Time, tell func(time.Time) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted = t
	if t.IsZero() && d.told.IsZero() || !d.told.IsZero() && (t.IsZero() || !t.Before(d.told)) {
		return nil
	}
	d.told = t
	return tell(t)
}

// renew tells the runtime the deadline that is wanted, after err has said that the one which
// it knew has come. False: err is another error, or that deadline was the one wanted.
func (d *deadline) renew(err error, tell func(time.Time) error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.wanted.IsZero() && !d.wanted.After(time.Now()) {
		return false
	}
	d.told = d.wanted
	return tell(d.wanted) == nil
}
