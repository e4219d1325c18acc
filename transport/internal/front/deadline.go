package front

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// movable is a connection whose deadlines cost little to move, as they are for each
// request: the runtime is told of a later one only when the one that it knows has come.
type movable struct {
	net.Conn
	reading, writing deadline

	parts [2][]byte // that are written together
	whole net.Buffers
}

// cheaper is conn with deadlines that cost little, where it is a socket: others have
// errors of their own for a deadline.
func cheaper(conn net.Conn) net.Conn {
	switch conn.(type) {
	case *net.TCPConn, *net.UnixConn:
		return &movable{Conn: conn}
	}
	return conn
}

// Read ends when the deadline that is wanted has come.
func (c *movable) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if n > 0 || err == nil || !c.reading.renew(err, c.Conn.SetReadDeadline) {
			return n, err
		}
	}
}

// Write ends when the deadline that is wanted has come.
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

// write is Write for both of them, in one system call. Not to be called concurrently.
func (c *movable) write(head, p []byte) error {
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
	wanted time.Time  // zero: none
	told   time.Time  // to the runtime: never later than wanted; zero: nothing
}

// move sets the deadline. What the runtime knows will do, if it comes first. Who ends a
// Read by a deadline in the past waits for it before the next one: it counts what is
// wanted when the Read wakes.
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

// renew tells the runtime what is wanted, when err says that what it knew has come; false:
// err says something else, or that is what was wanted.
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
