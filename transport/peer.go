package transport

import (
	"context"
	"sync/atomic"
)

// Peer is who is at the other end of one connection, as far as the carrier
// knows. The engine keeps the state of a handshake session with the
// connection; it is dropped when the context given to Connect ends.
type Peer struct {
	Carrier    string     // "stdio", "memory", ...; for logs
	RemoteAddr string     // empty: not a network
	Principal  *Principal // nil: nobody is known

	// Out takes what belongs to no exchange, such as list_changed. Nil: the
	// Outbound of the exchange that opened the session.
	Out Outbound

	// OneRequest says that the connection is that of one request, of whatever revision: there
	// was no handshake on it, and nothing reaches the client but the answer and what comes
	// before it.
	OneRequest bool

	// SessionState is where the host keeps what it knows of the session, so that another
	// process can serve it. Nil: the session ends with the connection.
	SessionState SessionState
}

// SessionState is the host's state of one session, kept by the carrier beyond this process.
// Safe for concurrent use. It neither keeps nor hands out a caller's slice.
type SessionState interface {
	// Load is what is kept, as this process has seen it last, and its version, which
	// rises with each change by whatever process. 0: nothing is kept yet.
	//
	// A connection whose state is there when its first frame arrives, or when it is
	// adopted (Services.Adopt), belongs to a session that another process has opened. A carrier
	// looks anew for each request.
	Load() (data []byte, version uint64)

	// Update keeps what change makes of the newest state, and calls it again where
	// another process was faster; nil is nothing kept yet. An error says that nothing
	// was kept. It blocks: not for Accept.
	Update(ctx context.Context, change func(data []byte) []byte) error
}

// Connection is the identity of one connection: equal pointers mean the same connection.
type Connection struct {
	Peer
	ctx     context.Context //nolint:containedctx // the connection's own life, which outlasts each of its frames
	refused atomic.Bool
}

// Refuse says that the host answers with an error to the initialize for which the
// connection was made: it has no session. It comes before that answer is sent.
func (c *Connection) Refuse() { c.refused.Store(true) }

// Refused says whether Refuse was called. A carrier that makes connections for sessions
// ([Sessions.Open]) ends one that was refused, and tells the client of none.
func (c *Connection) Refused() bool { return c.refused.Load() }

// Context returns the connection's own context: it ends with the connection, and holds
// nothing of any frame.
func (c *Connection) Context() context.Context { return c.ctx }

// OnClose has fn run in a goroutine of its own when the connection is gone.
func (c *Connection) OnClose(fn func()) {
	// A carrier's own context type may offer a cheaper AfterFunc than package context.
	if own, ok := c.ctx.(interface{ AfterFunc(f func()) func() bool }); ok {
		own.AfterFunc(fn)
		return
	}
	context.AfterFunc(c.ctx, fn)
}

type connectionKey struct{}

// Connect marks ctx as that of a new connection. A carrier calls it once per connection and
// passes the result to each Accept and Serve of that connection; the connection is gone
// when ctx ends. A carrier that never calls it has one connection for all its frames.
func Connect(ctx context.Context, p Peer) context.Context {
	return context.WithValue(ctx, connectionKey{}, &Connection{Peer: p, ctx: ctx})
}

// ConnectionFrom returns the connection that ctx belongs to, or nil.
func ConnectionFrom(ctx context.Context) *Connection {
	c, _ := ctx.Value(connectionKey{}).(*Connection)
	return c
}
