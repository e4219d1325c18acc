// Package transport is the contract between carriers and the engine, both halves.
//
// A carrier for servers is a [Transport]: it reads frames, hands each to
// [Host.Accept] in the order of arrival, and runs the [Exchange] it gets with
// an [Outbound] that takes the answers:
//
//	ctx = transport.Connect(ctx, transport.Peer{RemoteAddr: addr}) // once a connection
//	for each frame {
//		exchange, err := host.Accept(ctx, frame)
//		if err != nil { ... the host takes no more: close ... }
//		go exchange.Serve(ctx, out)
//	}
//
// Where each frame comes by an HTTP request of its own, the context carries that
// [Request] instead, and the host finds the connection through it ([Sessions]): what
// kind of frame it is decides whether there is one.
//
// A carrier for clients makes a [Conn].
//
// Guarantees. Accept runs no user code, writes nothing and does not block. It must
// not be called concurrently for one connection, unless each frame comes by a
// request of its own. Serve runs user code, may be called in any goroutine, and
// must be called exactly once for each exchange: it returns when everything the
// frame caused has been sent, and sends nothing afterwards. Outbound.Send is
// called from many goroutines at once; it must write frames whole and in the
// order of the calls. Frames are single JSON texts without line breaks. Neither
// side keeps a frame's bytes after the call that passed them returned, but for
// the bytes given to Accept, which belong to the host from then on, and those of
// Swapper.Swap.
//
// The package carries no protocol knowledge beyond frames.
package transport

import "context"

// Host is the engine as carriers see it; *framework.Server is one.
type Host interface {
	// Accept understands one frame. Faults of the peer are answered by the
	// exchange; an error means that the host takes no more frames at all.
	Accept(ctx context.Context, frame []byte) (Exchange, error)
}

// Quitter is a Host that says when it has given up on calls that do not end, although they
// were cancelled. Carriers that end do not wait for those. *framework.Server is one.
type Quitter interface {
	Host
	// GaveUp is closed then; never, if all calls ended.
	GaveUp() <-chan struct{}
}

// Exchange is one inbound frame and all it causes.
type Exchange interface {
	// Serve runs the exchange and sends what answers it to out. The error is
	// that of the carrier (a failed Send); the exchange itself answers all else.
	Serve(ctx context.Context, out Outbound) error
}

// Outbound takes the frames of an exchange.
type Outbound interface {
	// Send writes one frame. It blocks while the peer does not read and returns
	// an error when the peer is gone or ctx ends.
	Send(ctx context.Context, frame []byte) error
}

// Swapper is an Outbound that may take a frame without copying it.
type Swapper interface {
	Outbound
	// Swap is Send, but that frame belongs to the callee from then on, and other to the
	// caller in its place: memory of any length, frame itself where it was not wanted.
	Swap(ctx context.Context, frame []byte) (other []byte, err error)
}

// Transport carries frames until ctx ends.
type Transport interface {
	// Serve returns nil when ctx ended or the peer is done, after the accepted
	// exchanges have ended or had their grace period.
	Serve(ctx context.Context, host Host) error
}

// Conn is a client's end: one frame at a time each way. Read is called by one
// goroutine; Write by many. Read returns io.EOF when the server is gone; the
// frame is the caller's. Close ends a Read in progress.
type Conn interface {
	Read(ctx context.Context) ([]byte, error)
	Write(ctx context.Context, frame []byte) error
	Close() error
}

// Next is the rest of the frame-level chain.
type Next func(ctx context.Context, frame []byte, out Outbound) error

// Middleware sees raw frames: frame is what came in. A replacement of it would not be
// decoded again: a middleware observes it, wraps out to see and change what is sent, or
// refuses by returning an error instead of calling next; the host answers a request with
// that error. A middleware that returns nil without calling next must have answered the
// request through out. It may keep frame, but not change it, since the host reads it, too;
// what is sent is copied if it is to be kept beyond Send, whose memory is used again.
type Middleware func(next Next) Next

// OutboundFunc is a function that is an Outbound.
type OutboundFunc func(ctx context.Context, frame []byte) error

// Send calls f.
func (f OutboundFunc) Send(ctx context.Context, frame []byte) error { return f(ctx, frame) }
