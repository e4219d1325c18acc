package reactor

import (
	"net"
	"os"
	"time"
)

// deadline is that of one direction. Conn.mu guards it.
type deadline struct {
	at     time.Time // zero: none
	passed bool
	timer  *time.Timer // of a member whose deadline will come; else nil
}

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

// SetDeadline sets both.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline ends a Read that waits, too.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readEnd.at = t
	switch {
	case c.tcp != nil:
		return c.tcp.SetReadDeadline(t)
	case c.closed:
		return c.failure("set", net.ErrClosed)
	}
	c.setTimers()
	return nil
}

// SetWriteDeadline ends a Write that waits, too.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeEnd.at = t
	switch {
	case c.tcp != nil:
		return c.tcp.SetWriteDeadline(t)
	case c.closed:
		return c.failure("set", net.ErrClosed)
	}
	c.setTimers()
	return nil
}

// setTimers is called for a member whose deadlines have changed. The caller holds c.mu.
func (c *Conn) setTimers() {
	c.setTimer(&c.readEnd, func() { c.fail(os.ErrDeadlineExceeded) })
	c.setTimer(&c.writeEnd, c.goOn)
}

// setTimer calls passed, with c.mu held, when the deadline has come.
func (c *Conn) setTimer(d *deadline, passed func()) {
	d.stop()
	d.passed = false
	if d.at.IsZero() {
		return
	}
	left := time.Until(d.at)
	if left <= 0 {
		d.passed = true
		passed()
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(left, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if d.timer == timer { // else it was set anew
			d.timer, d.passed = nil, true
			passed()
		}
	})
	d.timer = timer
}
