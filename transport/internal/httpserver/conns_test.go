package httpserver

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// piped is a listener with connections in memory.
type piped chan net.Conn

func (p piped) Accept() (net.Conn, error) { return <-p, nil }
func (p piped) Close() error              { return nil }
func (p piped) Addr() net.Addr            { return nil }

// waiting is a server that waits for its connections.
type waiting struct{ *conns }

func (waiting) Serve(net.Listener) error { return nil }

func (w waiting) Shutdown(ctx context.Context) error {
	for w.left() > 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	return ctx.Err()
}

func (w waiting) left() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.all)
}

// TestConnectionsAtTheEnd: how long each connection lives when the server stops. A request
// is answered after a millisecond, which ends its connection.
func TestConnectionsAtTheEnd(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, tt := range map[string]struct {
		asked, want map[string]time.Duration
	}{
		"nothing is left":              {},
		"idle ones":                    {want: map[string]time.Duration{"idle": quiet, "idle too": quiet}},
		"one of which is used":         {map[string]time.Duration{"idle": 33 * ms}, map[string]time.Duration{"idle": 34 * ms, "idle too": 35*ms + quiet}},
		"a new one on which none asks": {want: map[string]time.Duration{"new": arrival, "idle": arrival}},
		"a new one that asks":          {map[string]time.Duration{"new": 703 * ms}, map[string]time.Duration{"new": 704 * ms, "idle": 705 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { testEnd(t, tt.asked, tt.want) })
		})
	}
}

func testEnd(t *testing.T, asked, want map[string]time.Duration) {
	c, accepted := newConns(time.Minute), make(piped, 1)
	began := time.Now()
	type life struct {
		name string
		took time.Duration
	}
	lives := make(chan life, len(want))
	for name := range want {
		here, there := net.Pipe()
		accepted <- here
		conn, err := c.listener(accepted, nil).Accept()
		if err != nil {
			t.Fatal(err)
		}
		if name != "new" {
			Answering(conn, true)
			Answering(conn, false)
		}
		if at, ok := asked[name]; ok {
			time.AfterFunc(at, func() {
				Answering(conn, true)
				time.AfterFunc(time.Millisecond, func() { _ = conn.Close() })
			})
		}
		go func() {
			_, _ = there.Read(make([]byte, 1))
			lives <- life{name, time.Since(began)}
		}()
	}
	c.shutdown(t.Context(), waiting{c})
	for range want {
		if l := <-lives; l.took != want[l.name] {
			t.Errorf("%q lived for %v, want %v", l.name, l.took, want[l.name])
		}
	}
}

// An answer of two parts can be written long after the first deadline.
func TestTogetherLater(t *testing.T) {
	t.Parallel()
	under, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const timeout = 300 * time.Millisecond
	l := newConns(timeout).listener(under, nil)
	client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", under.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = client.Close(), conn.Close(), l.Close() })
	for i := range 2 {
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if n, err := Together(conn, []byte("head"), []byte("body")); err != nil {
			t.Fatalf("answer %d: %d, %v", i, n, err)
		}
		if _, err := io.ReadFull(client, make([]byte, 8)); err != nil {
			t.Errorf("answer %d: %v", i, err)
		}
		time.Sleep(2 * timeout) // the deadline of a socket is real time
	}
}
