package streamable

import (
	"context"

	"github.com/kagami-mcp/kagami/transport"
)

// Lone is the only stream of a connection, as HTTP+SSE has it (2024-11-05
// basic/transports): it takes the frames of all exchanges, no answer ends it, and
// nothing resumes it. It is the transport.Outbound of the connection.
type Lone struct {
	st   *stream
	left func()
}

var _ transport.Outbound = (*Lone)(nil)

// NewLone makes a stream that begins with greeting, the bytes of an event. closing
// is called when the host begins to stop, left when the connection is gone. Reply
// is to be called once.
func (g *Gate) NewLone(greeting []byte, closing, left func()) *Lone {
	return &Lone{left: left, st: &stream{
		gate: g, sse: true, standalone: true,
		greeting: greeting, onClosing: closing,
	}}
}

// Send writes one frame as an event.
func (l *Lone) Send(ctx context.Context, frame transport.Frame) error {
	return l.st.Send(ctx, frame)
}

// Finish ends the stream, after what was sent.
func (l *Lone) Finish() { l.st.finish() }

// Reply hands the stream over to the carrier. It refuses, and left is not called,
// where the client has too many streams.
func (l *Lone) Reply(e *Entry) *Reply {
	who := holder{client: e.Client()}
	if !l.st.gate.enter(&who) {
		return tooManyStreams().with(e.common)
	}
	leave := func() {
		l.st.gate.leave(who)
		l.left()
	}
	s := &Stream{st: l.st, from: position{fresh: true}, header: e.common, leave: leave}
	return &Reply{Stream: s.expiring(e)}
}
