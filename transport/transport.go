// Package transport is the contract between carriers and the engine, both halves.
//
// A carrier for servers is a [Transport]: it reads frames, hands each to
// [Host.Accept] in the order of arrival, and runs the [Exchange] it gets with
// an [Outbound] that takes the answers:
//
//	conn, cancel := context.WithCancelCause(context.WithoutCancel(ctx)) // once a connection
//	conn = transport.Connect(conn, transport.Peer{RemoteAddr: addr, Out: out})
//	for each frame {
//		exchange, err := host.Accept(conn, frame)
//		if err != nil { ... the host takes no more: close after the exchanges ... }
//		go exchange.Serve(conn, out)
//	}
//	cancel(...) // the client is gone
//
// The ctx of [Transport.Serve] ends when the host begins to stop, and calls may then go on for a
// grace period ([Services]). The end of a connection's context cancels its calls, so that context is
// not derived from ctx. When ctx has ended, the carrier accepts nothing more. It waits for the
// exchanges or for the end of the grace period, and then cancels the connections.
//
// The host does not authenticate callers. Only carriers call the Authenticator of [Services], and put
// the [Principal] into the [Peer].
//
// Over HTTP each frame comes by a request of its own. The context then has that [Request], and the
// host finds the connection with its [Sessions], because the kind of the frame decides whether it
// belongs to one.
//
// A carrier for clients makes a [Conn].
//
// Accept runs no user code, sends nothing, and waits for nothing but the Sessions of the
// frame's Request. It must not be called concurrently for one connection, unless each frame
// comes by a request of its own.
//
// Serve runs user code and may be called in any goroutine. It must be called exactly once for each
// exchange. It returns when everything the frame caused has been sent, and sends nothing afterwards. If
// Peer.Out is nil, the Outbound of an initialize stays in use until its connection ends.
//
// A host recovers panics of the program's code, and answers them. A carrier need not recover panics
// of Accept and Serve.
//
// Send is called by many goroutines at once; it must write frames whole and in the order of
// the calls. Frames are single JSON texts without line breaks. Neither side keeps a frame's
// bytes after the call that passed them has returned, except for those given to Accept, which
// belong to the host from then on.
//
// The package carries no protocol knowledge beyond frames. A host and its exchanges offer more
// than these methods by two optional interfaces: [Server] and [Planned].
package transport

import (
	"context"
	"time"
)

// Host is the engine as carriers see it; *framework.Server is one. It may be a [Server], too.
type Host interface {
	// Accept understands one frame. Faults of the peer are answered by the
	// exchange; an error means that the host takes no more frames at all.
	Accept(ctx context.Context, frame []byte) (Exchange, error)
}

// Exchange is one inbound frame and all it causes. It may be [Planned], too.
type Exchange interface {
	// Serve runs the exchange and sends its answer to out. It returns the error of a failed Send.
	// The exchange answers all other errors.
	Serve(ctx context.Context, out Outbound) error
}

// Outbound takes the frames of an exchange.
type Outbound interface {
	// Send writes one frame. It waits while the peer does not read, and returns an error when the
	// peer is gone. If ctx has ended, it sends nothing and returns an error, unless the frame is
	// Final. If ctx ends while Send waits, it may also return an error, unless the frame is Final.
	Send(ctx context.Context, frame Frame) error
}

// Frame is a frame that is sent to the peer, with the information that a carrier needs for it.
type Frame struct {
	JSON []byte // one JSON text without line breaks; valid until Send returns

	// Final is set if the frame is the answer, the last frame of the exchange. It is sent even if
	// the context of Send has ended, for example because a call was cancelled or asks its client.
	// Bound returns the context to wait for.
	Final bool

	// The other fields are for HTTP, where a final frame before which nothing was sent is the
	// whole response. Elsewhere they have no effect.
	Status     int           // status of the response; 0 means 200
	RetryAfter time.Duration // how long the client should wait, sent in Retry-After; 0 means that it is not sent
	Challenge  string        // value of WWW-Authenticate; empty means that it is not sent
}

// Bound returns the context that a Send of f may wait for: ctx, or one that never ends if f is
// final.
func (f *Frame) Bound(ctx context.Context) context.Context {
	if f.Final {
		return context.Background() //nolint:forbidigo // Send only waits for it
	}
	return ctx
}

// Transport carries frames until ctx ends.
type Transport interface {
	// Serve returns nil when ctx ended or the peer is done, after the accepted
	// exchanges have ended or had their grace period; see the package documentation.
	Serve(ctx context.Context, host Host) error
}

// Conn is a client's end of a connection. Frames are single JSON texts without line breaks.
type Conn interface {
	// Read returns the next frame, which then belongs to the caller. It returns io.EOF when the server
	// is gone. It is called by one goroutine.
	Read(ctx context.Context) ([]byte, error)
	// Write sends one frame, and does not keep it. It is called by many goroutines at once.
	Write(ctx context.Context, frame []byte) error
	// Close closes the connection. It ends a Read in progress.
	Close() error
}

// Next is the rest of the frame-level chain.
type Next func(ctx context.Context, frame []byte, out Outbound) error

// Middleware sees raw frames: frame is the received one. It can observe frame, and wrap out to see and
// change what is sent. It must pass the same frame to next, because the host has already decoded it. To
// refuse a request, return an error instead of calling next; the host answers with that error. A middleware
// that returns nil without calling next must have answered the request through out, with a Frame that is
// Final.
//
// It may keep frame but must not change it, because the host also reads it. A frame that is sent is valid
// until Send returns, because its memory is then used again: to keep it longer, copy its bytes.
type Middleware func(next Next) Next

// OutboundFunc is a function that is an Outbound.
type OutboundFunc func(ctx context.Context, frame Frame) error

// Send calls f.
func (f OutboundFunc) Send(ctx context.Context, frame Frame) error { return f(ctx, frame) }
