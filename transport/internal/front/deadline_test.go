package front

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// counted is a connection that counts what the runtime is told.
type counted struct {
	net.Conn
	told int
}

func (c *counted) SetReadDeadline(t time.Time) error {
	c.told++
	return c.Conn.SetReadDeadline(t)
}

// pair is a movable connection, what it moves, and its other end.
func pair(t *testing.T) (c *movable, under *counted, other net.Conn) {
	t.Helper()
	own, other := net.Pipe()
	t.Cleanup(func() { _, _ = own.Close(), other.Close() })
	under = &counted{Conn: own}
	return &movable{Conn: under}, under, other
}

// after is how long a Read waits.
func after(t *testing.T, c net.Conn) time.Duration {
	t.Helper()
	start := time.Now()
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d, %v", n, err)
	}
	return time.Since(start)
}

// The last deadline counts, whatever was told before.
func TestDeadlineMoves(t *testing.T) {
	t.Parallel()
	const none, past = 0, -time.Hour
	for name, tt := range map[string]struct {
		set  []time.Duration // from now
		want time.Duration
	}{
		"once":             {[]time.Duration{time.Minute}, time.Minute},
		"later":            {[]time.Duration{time.Minute, time.Hour}, time.Hour},
		"earlier":          {[]time.Duration{time.Hour, time.Minute}, time.Minute},
		"later than told":  {[]time.Duration{time.Hour, time.Minute, 2 * time.Minute}, 2 * time.Minute},
		"none, and again":  {[]time.Duration{time.Minute, none, time.Hour}, time.Hour},
		"past":             {[]time.Duration{time.Minute, past}, 0},
		"past, and again":  {[]time.Duration{past, time.Minute}, time.Minute},
		"past, none, soon": {[]time.Duration{past, none, time.Second}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, _, _ := pair(t)
				for _, d := range tt.set {
					at := time.Now().Add(d)
					if d == none {
						at = time.Time{}
					}
					if err := c.SetReadDeadline(at); err != nil {
						t.Fatal(err)
					}
				}
				if got := after(t, c); got != tt.want {
					t.Errorf("ended after %v", got)
				}
			})
		})
	}
}

// A deadline that is moved for each request is told about once in its length, and what
// comes in between is read.
func TestDeadlineIsToldSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, under, other := pair(t)
		go func() {
			for range 600 {
				time.Sleep(time.Second)
				_, _ = other.Write([]byte("x"))
			}
		}()
		for i := range 600 {
			_ = c.SetReadDeadline(time.Now().Add(2 * time.Minute))
			_ = c.SetReadDeadline(time.Now().Add(time.Minute))
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Fatalf("read %d: %v", i, err)
			}
		}
		if under.told > 12 {
			t.Errorf("told %d times in ten minutes", under.told)
		}
		if got := after(t, c); got != time.Minute-time.Second {
			t.Errorf("ended after %v", got)
		}
	})
}

// A Read that waits ends when somebody else says so, and does not when there is no
// deadline any more.
func TestDeadlineOfWhoWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, other := pair(t)
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		go func() {
			_ = c.SetDeadline(time.Time{})
			time.Sleep(time.Hour)
			_, _ = other.Write([]byte("x"))
			time.Sleep(time.Hour)
			_ = c.SetReadDeadline(time.Unix(1, 0))
		}()
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Errorf("without a deadline: %v", err)
		}
		if got := after(t, c); got != time.Hour {
			t.Errorf("ended after %v", got)
		}
	})
}

// What a client has taken before an old deadline is not written again, in one piece or two.
func TestWriteGoesOn(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*movable) error{
		"in one": func(c *movable) error {
			n, err := c.Write([]byte("hello"))
			if n != len("hello") && err == nil {
				err = io.ErrShortWrite
			}
			return err
		},
		"in two": func(c *movable) error { return c.write([]byte("hel"), []byte("lo")) },
		"early":  func(c *movable) error { return c.write([]byte("h"), []byte("ello")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { writeGoesOn(t, write) })
		})
	}
}

func writeGoesOn(t *testing.T, write func(*movable) error) {
	t.Helper()
	c, _, other := pair(t)
	_ = c.SetWriteDeadline(time.Now().Add(time.Second))
	_ = c.SetWriteDeadline(time.Now().Add(time.Hour))
	read := make(chan string)
	go func() {
		var first [2]byte
		_, _ = io.ReadFull(other, first[:])
		time.Sleep(time.Minute)
		rest, _ := io.ReadAll(other)
		read <- string(first[:]) + string(rest)
	}()
	if err := write(c); err != nil {
		t.Errorf("writing: %v", err)
	}
	_ = c.Close()
	if got := <-read; got != "hello" {
		t.Errorf("the client has %q", got)
	}
	if err := write(c); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("wrote, %v, when closed", err)
	}
}

func TestOnlySocketsMove(t *testing.T) {
	t.Parallel()
	own, other := net.Pipe()
	defer func() { _, _ = own.Close(), other.Close() }()
	if cheaper(own) != own {
		t.Error("a pipe has deadlines that this package cannot know")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	socket, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	if _, ok := cheaper(socket).(*movable); !ok {
		t.Error("the deadlines of a socket cost what they did")
	}
}
