package streamable

import (
	"context"

	"github.com/kagami-mcp/kagami/transport"
)

// ConnectionStream is the only stream of an HTTP+SSE connection (2024-11-05 basic/transports). It
// carries the frames of all exchanges. No answer ends it, and it cannot be resumed. It is the
// transport.Outbound of the connection.
type ConnectionStream struct {
	st   *stream
	left func()
}

var _ transport.Outbound = (*ConnectionStream)(nil)

// NewConnectionStream returns a stream that begins with greeting, the bytes of an event. It calls
// closing when the host begins to stop or the client's token expires, and left when the connection
// is gone. The caller calls Reply once.
func (a *Admitter) NewConnectionStream(greeting []byte, closing, left func()) *ConnectionStream {
	return &ConnectionStream{left: left, st: &stream{
		admitter: a, sse: true, standalone: true,
		greeting: greeting, onClosing: closing,
	}}
}

// Send writes one frame as an event.
func (l *ConnectionStream) Send(ctx context.Context, frame transport.Frame) error {
	return l.st.Send(ctx, frame)
}

// Finish ends the stream after the frames that were sent.
func (l *ConnectionStream) Finish() { l.st.finish() }

// Reply hands the stream over to the carrier. If the client has too many streams, Reply returns a
// refusal, and left is not called.
func (l *ConnectionStream) Reply(e *Admission) *Reply {
	who := quotaOwner{client: e.Client()}
	if !l.st.admitter.enter(&who) {
		return tooManyStreams().with(e.common)
	}
	leave := func() {
		who.quota.leave(1)
		l.left()
	}
	s := &Stream{st: l.st, from: position{fresh: true}, header: e.common, leave: leave}
	return &Reply{Stream: s.expiring(e)}
}
