package reactor

import (
	"context"
	"net"
	"runtime"
	"sync/atomic"
)

// Listener makes the TCP connections that l accepts connections of a reactor. Those of another kind are
// returned as they are. If always, connections are members of a loop from the start; that is for tests.
func Listener(l net.Listener, always bool) net.Listener {
	made := &listener{Listener: l, loops: make([]*loop, max(1, runtime.GOMAXPROCS(0)/perLoop))}
	for i := range made.loops {
		made.loops[i] = newLoop(always)
	}
	return made
}

// Wait waits until the connections of a listener of this package have written what was put down before they were
// closed, or ctx ends. They must all be closed.
func Wait(ctx context.Context, l net.Listener) {
	own, ok := l.(*listener)
	if !ok {
		return
	}
	for _, on := range own.loops {
		select {
		case <-on.parting.Stop():
		case <-ctx.Done():
		}
	}
}

// perLoop is how many processors one loop can keep busy, roughly: its system calls are less than half of
// what a small request costs.
const perLoop = 2

type listener struct {
	net.Listener
	loops []*loop
	next  atomic.Uint32 // whose turn it is to take a connection
}

// Accept waits for a connection.
func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	tcp, ok := conn.(*net.TCPConn)
	if err != nil || !ok {
		return conn, err
	}
	return newConn(l.loops[l.next.Add(1)%uint32(len(l.loops))], tcp), nil
}

// Close takes no more connections. The loops end with those they have.
func (l *listener) Close() error {
	for _, on := range l.loops {
		on.end()
	}
	return l.Listener.Close()
}
