package fiberhttp

import (
	"net"
	"testing"
	"time"
)

// deadlines is a connection that records its read deadlines.
type deadlines struct {
	net.Conn
	set []time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

// TestExpire: a read deadline stays as long as it is near enough.
func TestExpire(t *testing.T) {
	t.Parallel()
	var d deadlines
	c := &conn{Conn: &d}
	for i, step := range []struct {
		after time.Duration
		sets  int // how often a deadline has been set
	}{
		{time.Hour, 1}, {time.Hour, 1}, {time.Minute, 2}, {time.Minute, 2}, {time.Hour, 3}, {0, 4}, {time.Hour, 5}, {time.Hour, 5},
	} {
		c.expire(step.after)
		if len(d.set) != step.sets {
			t.Fatalf("step %d: %d deadlines are set, want %d", i, len(d.set), step.sets)
		}
		last := d.set[len(d.set)-1]
		if step.after == 0 {
			if !last.IsZero() {
				t.Errorf("step %d: the deadline is %v, want none", i, last)
			}
			continue
		}
		if left := time.Until(last); left < step.after-time.Minute/2 || left > step.after*9/8 {
			t.Errorf("step %d: the deadline is in %v, want %v to %v", i, left, step.after, step.after*9/8)
		}
	}
}
