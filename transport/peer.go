package transport

import (
	"context"
	"sync/atomic"
)

// Peer describes the other end of a connection. The engine keeps the state of a handshake session with
// the connection, and drops it when the context given to Connect ends.
type Peer struct {
	Carrier    string     // "stdio", "memory", ...; for logs
	RemoteAddr string     // empty: not a network
	Principal  *Principal // nil: the caller is unknown, and may use only components without Scopes

	// Out takes frames that do not belong to an exchange, such as list_changed. If it is nil, they go
	// to the Outbound of the exchange that opened the session, even after its Serve has returned.
	Out Outbound

	// OneRequest is set if the connection exists for one request of any revision. It has not had a
	// handshake, and only the answer and the frames before it reach the client.
	OneRequest bool

	// SessionState stores the host's state of the session, so that another process can serve it. If it
	// is nil, the session ends with the connection.
	SessionState SessionState
}

// SessionState stores the host's state of one session beyond this process. It is safe for concurrent
// use. It copies the slices that it gets and returns.
type SessionState interface {
	// Load returns the state as this process last read it, and its version. Each change by any
	// process increases the version; 0 means that there is no state yet. A carrier reads the state
	// again for each request.
	//
	// If there is a state when the first frame of a connection arrives, or when the connection is
	// adopted (Services.Adopt), another process has opened the session.
	Load() (data []byte, version uint64)

	// Update stores the result of change, which gets the newest state, or nil if there is none. If
	// another process was faster, Update calls change again. After an error, the change may
	// have been stored all the same. It blocks, so Accept must not call it.
	Update(ctx context.Context, change func(data []byte) []byte) error
}

// Connection identifies a connection: equal pointers are the same connection.
type Connection struct {
	Peer
	ctx     context.Context //nolint:containedctx // the connection's own life, which outlasts each of its frames
	refused atomic.Bool
}

// Refuse marks the connection as one whose initialize the host answers with an error, so that it does
// not get a session. The host calls it before it sends that answer.
func (c *Connection) Refuse() { c.refused.Store(true) }

// Refused reports whether Refuse was called. A carrier that makes connections for sessions
// ([Sessions.Open]) ends such a connection, and does not send its id to the client.
func (c *Connection) Refused() bool { return c.refused.Load() }

// Context returns the context of the connection. It ends with the connection, and has no values of a
// frame.
func (c *Connection) Context() context.Context { return c.ctx }

// OnClose runs fn in a goroutine of its own when the connection is gone.
func (c *Connection) OnClose(fn func()) {
	// A carrier's own type of context may have a cheaper AfterFunc than package context.
	if own, ok := c.ctx.(interface{ AfterFunc(f func()) func() bool }); ok {
		own.AfterFunc(fn)
		return
	}
	context.AfterFunc(c.ctx, fn)
}

type connectionKey struct{}

// Connect returns a context with a new connection. A carrier calls it once for each connection, and
// passes the context to each Accept and Serve of the connection. The connection is gone when ctx
// ends. A carrier that never calls Connect has one connection for all its frames.
func Connect(ctx context.Context, p Peer) context.Context {
	return context.WithValue(ctx, connectionKey{}, &Connection{Peer: p, ctx: ctx})
}

// ConnectionFrom returns the connection of ctx, or nil.
func ConnectionFrom(ctx context.Context) *Connection {
	c, _ := ctx.Value(connectionKey{}).(*Connection)
	return c
}
