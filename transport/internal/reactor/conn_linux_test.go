package reactor

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/nettest"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds waits that only end so if something hangs.
const patience = time.Minute

// mode is how connections of a test wait.
type mode string

const (
	alone  mode = "for themselves"
	member mode = "in a loop"
	moving mode = "in turns"
)

var modes = []mode{alone, member, moving}

// listen makes a listener whose connections wait in one way, until the test ends.
func listen(t *testing.T, m mode) *listener {
	t.Helper()
	var config net.ListenConfig
	under, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l, ok := Listener(under, m == member).(*listener)
	if !ok {
		t.Fatal("no listener of this package")
	}
	stop := func() {}
	if m == moving {
		stop = move(l)
	}
	t.Cleanup(func() { stop(); _ = l.Close() })
	return l
}

// move makes the loops busy and idle, in turns.
func move(l *listener) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				for _, on := range l.loops {
					on.busy.Store(!on.busy.Load())
				}
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}

// pair makes a connection of l's and its client.
func pair(t *testing.T, l *listener) (c *Conn, client *net.TCPConn) {
	t.Helper()
	dialed, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = accepted.Close(), dialed.Close() })
	c, ok := accepted.(*Conn)
	client, also := dialed.(*net.TCPConn)
	if !ok || !also {
		t.Fatalf("a pair of %T and %T", accepted, dialed)
	}
	_ = client.SetDeadline(time.Now().Add(patience))
	return c, client
}

// The standard tests of what a net.Conn does.
func TestConn(t *testing.T) {
	t.Parallel()
	for _, m := range modes {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			l := listen(t, m)
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				c, client := pair(t, l)
				_ = client.SetDeadline(time.Time{})
				return c, client, func() { _, _ = c.Close(), client.Close() }, nil
			})
		})
	}
}

// Many clients at once get what they have sent, in its order, in pieces of any size.
func TestEcho(t *testing.T) {
	t.Parallel()
	for _, m := range modes {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			l := listen(t, m)
			var all sync.WaitGroup
			for i := range 100 {
				c, client := pair(t, l)
				all.Go(func() { echo(t, c) })
				all.Go(func() { ask(t, client, rand.New(rand.NewPCG(uint64(i), 0)), 200) }) //nolint:gosec // of a test
			}
			all.Wait()
		})
	}
}

// echo answers each read by one or several writes, until the end.
func echo(t *testing.T, c *Conn) {
	defer func() { _ = c.Close() }()
	p := make([]byte, 8<<10)
	for i := 0; ; i++ {
		n, err := c.Read(p)
		if errors.Is(err, io.EOF) {
			return
		}
		var failed error
		switch i % 3 {
		case 0:
			_, failed = c.Write(p[:n])
		case 1:
			_, failed = c.Together(p[:n/2], p[n/2:n])
		case 2:
			_, failed = c.Write(p[:n/2])
			_, also := c.Write(p[n/2 : n])
			failed = errors.Join(failed, also)
		}
		if err = errors.Join(err, failed); err != nil {
			t.Errorf("echo %d: %v", i, err)
			return
		}
	}
}

func ask(t *testing.T, client *net.TCPConn, random *rand.Rand, times int) {
	defer func() { _ = client.Close() }()
	sent, got := make([]byte, 16<<10), make([]byte, 16<<10)
	for i := range times {
		n := 1 + random.IntN(1<<(4+random.IntN(10)))
		for j := range sent[:n] {
			sent[j] = byte(random.Uint32())
		}
		if _, err := client.Write(sent[:n]); err != nil {
			t.Errorf("write %d: %v", i, err)
			return
		}
		if _, err := io.ReadFull(client, got[:n]); err != nil || !bytes.Equal(got[:n], sent[:n]) {
			t.Errorf("the answer %d of %d bytes differs, or %v", i, n, err)
			return
		}
	}
}

// What was put down arrives though the connection is closed at once, or only its writing ends.
func TestPutDownThenClosed(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Conn) error{"Close": (*Conn).Close, "CloseWrite": (*Conn).CloseWrite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, client := pair(t, listen(t, member))
			text := putDown(t, c, client)
			if err := end(c); err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(client); err != nil || string(got) != text {
				t.Errorf("read %q, %v", got, err)
			}
		})
	}
}

// putDown has c put an answer down, in a loop that is said to gather and does not write.
func putDown(t *testing.T, c *Conn, client *net.TCPConn) string {
	t.Helper()
	if _, err := client.Write([]byte("question")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	c.loop.gather(2)
	if n, err := c.Write([]byte("answer")); n != len("answer") || err != nil {
		t.Fatalf("wrote %d, %v", n, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if string(c.queued) != "answer" {
		t.Fatal("nothing was put down")
	}
	return "answer"
}

// That is so if the client has not read what came before, for which the socket has no more room.
func TestPutDownThenClosedUnread(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Conn) error{"Close": (*Conn).Close, "CloseWrite": (*Conn).CloseWrite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := listen(t, member)
			c, client := pair(t, l)
			if _, err := client.Write([]byte("first")); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Read(make([]byte, 5)); err != nil {
				t.Fatal(err)
			}
			before := fill(t, c)
			text := putDown(t, c, client)
			c.loop.write()
			if err := end(c); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write([]byte("late")); err == nil {
				t.Error("it can be written to still")
			}
			waited := make(chan struct{})
			go func() { defer close(waited); Wait(t.Context(), l) }()
			select {
			case <-waited:
				t.Error("not waited for")
			case <-time.After(10 * time.Millisecond): // it can only be too short to see it
			}
			got, err := io.ReadAll(client)
			if err != nil || len(got) != before+len(text) || !bytes.HasSuffix(got, []byte(text)) {
				t.Errorf("read %d bytes of %d, %v", len(got), before+len(text), err)
			}
			<-waited
		})
	}
}

// fill writes until the socket takes no more for a while.
func fill(t *testing.T, c *Conn) (n int) {
	t.Helper()
	for full := 0; full < 20; {
		_ = c.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
		m, err := c.Write(make([]byte, 4<<10))
		n += m
		if full++; err == nil {
			full = 0
		}
	}
	_ = c.SetWriteDeadline(time.Time{})
	return n
}

// A read ends at an urgent byte, and there may be more behind it.
func TestUrgentByte(t *testing.T) {
	t.Parallel()
	for _, m := range modes {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			c, client := pair(t, listen(t, m))
			raw, err := client.SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			const first, last = "GET / HTTP/1.1\r\nHo", "st: x\r\n\r\n"
			_, err = client.Write([]byte(first))
			failed := raw.Control(func(fd uintptr) { err = errors.Join(err, unix.Sendto(int(fd), []byte("!"), unix.MSG_OOB, nil)) })
			_, also := client.Write([]byte(last))
			if err = errors.Join(err, failed, also); err != nil {
				t.Fatal(err)
			}
			_ = c.SetReadDeadline(time.Now().Add(patience))
			for got, p := "", make([]byte, 100); got != first+last; {
				n, err := c.Read(p)
				if got += string(p[:n]); err != nil {
					t.Fatalf("read %q, %v", got, err)
				}
			}
		})
	}
}

// Moving keeps the options of a socket.
func TestOptionsMove(t *testing.T) {
	t.Parallel()
	under, err := (&net.ListenConfig{KeepAlive: -1}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l, ok := Listener(under, true).(*listener)
	if !ok {
		t.Fatal("no listener of this package")
	}
	t.Cleanup(func() { _ = l.Close() })
	c, client := pair(t, l)
	exchange := func() {
		t.Helper()
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	exchange()
	was := c.options()
	c.loop.busy.Store(false)
	exchange()
	c.loop.busy.Store(true)
	exchange()
	if is := c.options(); is != was || is[len(kept)-1] != 0 {
		t.Errorf("options were %v, are %v", was, is)
	}
}

// What is written later comes later, also if the loop writes meanwhile.
func TestPutDownComesFirst(t *testing.T) {
	t.Parallel()
	c, client := pair(t, listen(t, member))
	text := putDown(t, c, client)
	if _, err := c.Write([]byte(", and more")); err != nil {
		t.Fatal(err)
	}
	c.loop.write()
	_ = c.Close()
	if got, err := io.ReadAll(client); err != nil || string(got) != text+", and more" {
		t.Errorf("read %q, %v", got, err)
	}
}

// The last of those that were woken writes for all.
func TestLastWrites(t *testing.T) {
	t.Parallel()
	l := listen(t, member)
	first, client := pair(t, l)
	second, other := pair(t, l)
	second.loop = first.loop // it is not a member yet
	text := putDown(t, first, client)
	if _, err := other.Write([]byte("question")); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	for _, to := range []*net.TCPConn{client, other} {
		got := make([]byte, len(text))
		if _, err := io.ReadFull(to, got); err != nil || string(got) != text {
			t.Errorf("read %q, %v", got, err)
		}
	}
}

// A client that does not read makes Write fail at its deadline. All that was written before arrives.
func TestDoesNotRead(t *testing.T) {
	t.Parallel()
	for _, m := range modes {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			c, client := pair(t, listen(t, m))
			go func() { _, _ = c.Read(make([]byte, 1)) }() // and moves, if it is to
			_ = c.SetWriteDeadline(time.Now().Add(time.Second))
			n, err := c.Write(make([]byte, 64<<20))
			if !errors.Is(err, os.ErrDeadlineExceeded) || n == 0 {
				t.Fatalf("wrote %d, %v", n, err)
			}
			_ = c.SetWriteDeadline(time.Time{})
			go func() {
				_, _ = c.Write([]byte("end"))
				_ = c.CloseWrite()
			}()
			got, err := io.ReadAll(client)
			if err != nil || len(got) != n+len("end") || !bytes.HasSuffix(got, []byte("end")) {
				t.Errorf("read %d bytes of %d, %v", len(got), n, err)
			}
		})
	}
}

// The end of what comes is read though it came with the last bytes, or while nobody read.
func TestEndWithLastBytes(t *testing.T) {
	t.Parallel()
	c, client := pair(t, listen(t, member))
	if _, err := client.Write([]byte("first")); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 100)
	if n, err := c.Read(p); string(p[:n]) != "first" || err != nil {
		t.Fatalf("read %q, %v", p[:n], err)
	}
	if _, err := client.Write([]byte("last")); err != nil {
		t.Fatal(err)
	}
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); err != nil || string(got) != "last" {
		t.Errorf("read %q, %v", got, err)
	}
}

// Moving keeps deadlines.
func TestDeadlineMoves(t *testing.T) {
	t.Parallel()
	l := listen(t, alone)
	c, client := pair(t, l)
	_ = c.SetReadDeadline(time.Now().Add(2 * time.Second))
	for _, busy := range []bool{true, false, true} {
		c.loop.busy.Store(busy)
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if c.mu.Lock(); (c.tcp == nil) != busy {
			t.Errorf("it has not moved (%v)", busy)
		}
		c.mu.Unlock()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the deadline was lost: %v", err)
		}
		_ = c.SetReadDeadline(time.Now().Add(2 * time.Second))
	}
}

// Descriptors and the loops' goroutines end with the connections; see TestMain for the latter.
func TestNothingRemains(t *testing.T) {
	l := listen(t, moving)
	before := descriptors(t)
	for range 20 {
		var all sync.WaitGroup
		for i := range 20 {
			c, client := pair(t, l)
			all.Go(func() { echo(t, c) })
			all.Go(func() { ask(t, client, rand.New(rand.NewPCG(uint64(i), 1)), 5) }) //nolint:gosec // of a test
		}
		all.Wait()
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors remain", after-before)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}
