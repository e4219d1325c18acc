package httpserver

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/kagami-mcp/kagami/transport/internal/hostcall"
)

// conns is the set of the connections of a stand-alone server, so that the server can close them.
// Write on such a connection fails if the client does not read.
//
// It does not own the connections. The goroutine that serves a connection closes it; shutdown also does,
// from another goroutine, and the server's Read or Write then fails.
type conns struct {
	timeout time.Duration

	mu  sync.Mutex // guards all
	all map[*tracked]struct{}
}

// newConns returns an empty set. A client must read a piece within timeout; see Piece.
func newConns(timeout time.Duration) *conns {
	return &conns{timeout: timeout, all: make(map[*tracked]struct{})}
}

// listener wraps l, so that its connections are in the set.
func (c *conns) listener(l net.Listener, log *hostcall.Log) net.Listener {
	return &tracking{Listener: l, conns: c, log: log}
}

// Answering records whether a request is being answered on conn, or on the connection under its
// TLS. After the first call, the connection does not count as new any more.
func Answering(conn net.Conn, yes bool) {
	if t := under(conn); t != nil {
		t.answering.Store(yes)
		t.asked.Store(true)
	}
}

// RemoteAddr returns the text of addr. If addr is the remote address of conn, it returns the text
// that was made once for the connection.
func RemoteAddr(conn net.Conn, addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		if t := under(conn); t != nil {
			if own, ok := t.RemoteAddr().(*net.TCPAddr); ok && own == tcp {
				return t.remote
			}
		}
	}
	return text(addr)
}

// text returns addr.String, with fewer allocations for TCP.
func text(addr net.Addr) string {
	if addr == nil {
		return ""
	}
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || tcp == nil || !tcp.AddrPort().IsValid() {
		return addr.String()
	}
	at := tcp.AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port()).String()
}

// under returns the connection of a set that conn is, or that conn wraps, as TLS does; otherwise nil.
func under(conn net.Conn) *tracked {
	for {
		if t, ok := conn.(*tracked); ok {
			return t
		}
		over, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		conn = over.NetConn()
	}
}

// While the server closes, new requests are refused with 503, and the client can send them
// elsewhere. If the connection were closed instead, the client would not know whether its request
// was served.
const (
	arrival = time.Second           // a new connection must send its first request within this time
	quiet   = 50 * time.Millisecond // idle connections are closed if nothing came on them for this time
	glance  = 5 * time.Millisecond  // between two looks at the connections
)

// shutdown closes new and idle connections after await. A connection with a request is closed when
// its answer is written, or when ctx ends. The listener must be closed before.
func (c *conns) shutdown(ctx context.Context, s Server) {
	c.await(ctx) // before Shutdown, after which net/http reads requests and does not answer them
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = s.Shutdown(ctx) // the error is only that ctx has ended
	}()
	every(ctx, glance, func() bool { // an answer may leave its connection idle
		c.close(func(t *tracked) bool { return !t.answering.Load() })
		select {
		case <-stopped:
			return true
		default:
			return false
		}
	})
	c.close(func(*tracked) bool { return true })
	<-stopped
}

// await waits for requests that are on their way. It returns when each connection has had a
// request, all requests are answered, and idle connections have been quiet. It returns after
// arrival at the latest.
func (c *conns) await(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, arrival)
	defer cancel()
	last, still := -1, time.Duration(0) // the number of idle connections, and how long it has not changed
	every(ctx, glance, func() bool {
		now := c.count()
		if still += glance; now.idle != last { // an answer ends its connection: see Stops
			last, still = now.idle, 0
		}
		return now.fresh == 0 && now.busy == 0 && (now.idle == 0 || still >= quiet)
	})
}

// every calls do until it returns true or ctx ends, with a pause between two calls.
func every(ctx context.Context, pause time.Duration, do func() bool) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for !do() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// census counts the connections that have had no request yet, that have a request, and that are
// idle.
type census struct{ fresh, busy, idle int }

func (c *conns) count() (now census) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for t := range c.all {
		switch {
		case !t.asked.Load():
			now.fresh++
		case t.answering.Load():
			now.busy++
		default:
			now.idle++
		}
	}
	return now
}

// close closes the connections that the function which selects.
func (c *conns) close(which func(*tracked) bool) {
	c.mu.Lock()
	var chosen []*tracked
	for t := range c.all {
		if which(t) {
			chosen = append(chosen, t)
		}
	}
	c.mu.Unlock()
	for _, t := range chosen {
		t.drop()
		_ = t.Conn.Close() // its error does not matter any more
	}
}

func (c *conns) add(t *tracked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[t] = struct{}{}
}

// tracking is a listener that puts its connections into a set.
type tracking struct {
	net.Listener
	conns *conns
	log   *hostcall.Log
}

// Accept waits for a connection and adds it to the set. While the system lacks resources for
// another connection, Accept also waits, because fasthttp would stop serving after an error. It
// logs a warning, because otherwise the program would only seem idle.
func (l *tracking) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if passing(err) {
			if !errors.Is(err, errAborted) {
				l.log.Warn("new connections wait, because the system has no resources for them", err.Error()+": "+moreConnections)
			}
			time.Sleep(scarce)
			continue
		}
		if err != nil {
			return nil, err
		}
		t := &tracked{Conn: conn, conns: l.conns, remote: text(conn.RemoteAddr())}
		l.conns.add(t)
		return t, nil
	}
}

// scarce is the pause while the system lacks resources for more connections.
const scarce = 20 * time.Millisecond

// passing reports whether an error of Accept is temporary. The system may lack a descriptor or memory
// for the connection, or a client has disconnected before it was accepted.
func passing(err error) bool {
	return errors.Is(err, errAborted) || slices.ContainsFunc(shortages(), func(e syscall.Errno) bool { return errors.Is(err, e) })
}

// tracked is a connection in a set.
//
// The goroutine that serves the connection sets the atomic fields, and shutdown reads them. asked is set
// after answering, so a connection with its first request never counts as idle. parts and whole belong
// to the goroutine that is writing; the carriers write from one goroutine at a time.
type tracked struct {
	net.Conn
	conns     *conns
	remote    string      // text of the remote address
	answering atomic.Bool // a request is being answered
	asked     atomic.Bool // there was a request
	unread    atomic.Bool // a part of the last request was not read

	parts [2][]byte   // used by together, which is not called concurrently; kept here to save an allocation
	whole net.Buffers // the bytes of parts that are still to be written
}

// Write fails if the client does not read; see Piece.
func (t *tracked) Write(p []byte) (int, error) { return Write(t.Conn, p, t.conns.timeout) }

// together writes head, which is short, and p, in one system call if the connection is a socket.
func (t *tracked) together(head, p []byte) (int, error) {
	first := min(len(p), Piece)
	t.parts = [2][]byte{head, p[:first]}
	t.whole = t.parts[:] // WriteTo removes what it has written
	defer func() { t.parts, t.whole = [2][]byte{}, nil }()
	_ = t.SetWriteDeadline(time.Now().Add(t.conns.timeout)) // it fails on connections without deadlines, which are written without one
	if _, err := t.whole.WriteTo(t.Conn); err != nil {
		return 0, err
	}
	n, err := t.Write(p[first:])
	return first + n, err
}

// Close removes the connection from the set and closes it.
//
// It may block for the time of lingering, so it is called without a lock. shutdown does not use it.
func (t *tracked) Close() error {
	t.drop()
	if t.unread.Load() {
		t.linger()
	}
	return t.Conn.Close()
}

func (t *tracked) drop() {
	t.conns.mu.Lock()
	defer t.conns.mu.Unlock()
	delete(t.conns.all, t)
}

// Unread records that the request on conn is refused before all of it was read.
func Unread(conn net.Conn) {
	if t := under(conn); t != nil {
		t.unread.Store(true)
	}
}

// lingering is how long a client may go on sending a request that was refused.
const lingering = 500 * time.Millisecond

// linger reads what the client still sends. Closing the socket earlier would reset the connection,
// and the client could lose the refusal (RFC 9112 section 9.6).
func (t *tracked) linger() {
	half, ok := t.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || t.SetReadDeadline(time.Now().Add(lingering)) != nil {
		return
	}
	_, _ = io.Copy(io.Discard, t.Conn) // until the client is done, or the deadline
}

// Together writes head and then p. On a connection of a set this is one system call, unless p is
// long. At least n bytes of p were written.
func Together(conn net.Conn, head, p []byte) (n int, err error) {
	if t, ok := conn.(*tracked); ok {
		return t.together(head, p)
	}
	return apart(conn, head, p)
}

// apart writes head and then p with two calls.
func apart(conn net.Conn, head, p []byte) (int, error) {
	if _, err := conn.Write(head); err != nil {
		return 0, err
	}
	return conn.Write(p)
}

// Piece is the number of bytes that a client must read within one timeout.
const Piece = 256 << 10

// Write writes p. It fails if the client does not read a piece of it within timeout.
func Write(conn net.Conn, p []byte, timeout time.Duration) (n int, err error) {
	for n < len(p) && err == nil {
		// This fails on connections without deadlines, which are written without one.
		_ = conn.SetWriteDeadline(time.Now().Add(timeout))
		var m int
		m, err = conn.Write(p[n:min(len(p), n+Piece)])
		n += m
	}
	return n, err
}
