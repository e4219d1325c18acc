package streamable

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

// Stream is an open response. A carrier must carry it exactly once, with Serve or with Begin.
//
// It belongs to the carrier. leave runs once, when the connection has ended; it gives back the use
// of the session, the place in a quota, and the count in Endpoint.running.
type Stream struct {
	st     *stream
	from   position
	header []Field
	leave  func()
	follow *follower // for a stream that another node writes, with st nil
	until  time.Time // time when the client's token expires; zero means never
}

// position is where in a stream a connection begins.
type position struct {
	fresh   bool   // a new connection of the standalone stream, which begins with the events that were not delivered
	resumed bool   // by Last-Event-ID
	after   uint64 // if resumed, the last event that the client has
}

// LongLived reports whether the exchange goes on when the client disconnects. In that case the end
// of what the client sends does not mean a disconnect: the client may have closed only its sending
// half, and wait for the answer.
func (s *Stream) LongLived() bool { return s.st != nil && !s.st.standalone && s.st.life == nil }

// expiring makes a stream of a GET end when its token expires, because each request is authorized
// separately (2025-11-25 basic/authorization "Access Token Usage"). The session remains, for a
// client that comes back with another token.
func (s *Stream) expiring(e *Admission) *Stream {
	if p := transport.PrincipalFrom(e.ctx); p != nil {
		s.until = p.Expires
	}
	return s
}

// holdsQuota makes the end of the stream undo Admitter.enter.
//
// It must be called before the carrier gets s.
func (s *Stream) holdsQuota(quota *streamQuota) {
	after := s.leave
	s.leave = func() { quota.leave(1); after() }
}

// Serve carries the stream on sink until there is nothing more to send on this connection. The
// carrier ends ctx when the client has disconnected.
func (s *Stream) Serve(ctx context.Context, sink Sink) {
	if s.follow != nil {
		s.followed(ctx, sink)
		return
	}
	a := s.connect(sink)
	a.over = make(chan struct{})
	defer a.end()
	a.begin(s)
	select {
	case <-a.over:
	case <-ctx.Done():
		a.close()
	}
}

// Begin carries the stream on sink without a goroutine while nothing is sent. It returns when the
// stream is open. The carrier calls gone when the client has disconnected; gone may be called more
// than once. over is called once, in a goroutine of its own, when nothing more is sent on this
// connection, possibly before Begin returns. ctx has the values of the request, but does not end
// the stream.
func (s *Stream) Begin(ctx context.Context, sink Sink, over func()) (gone func()) {
	if s.follow != nil {
		ctx, cancel := context.WithCancel(ctx)
		go func() {
			defer over()
			defer cancel()
			defer s.follow.s.e.log.Recover()
			s.followed(ctx, sink)
		}()
		return cancel
	}
	a := s.connect(sink)
	a.told, gone = over, a.close
	defer func() {
		if value := recover(); value != nil { // a panic of an event store
			s.st.admitter.log.Panicked(value)
			a.close()
		}
	}()
	a.begin(s)
	return gone
}

// followed carries a stream that another node writes, until ctx ends or the token expires.
func (s *Stream) followed(ctx context.Context, sink Sink) {
	defer s.leave()
	if !s.until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, s.until)
		defer cancel()
	}
	s.follow.serve(ctx, &streamConn{sink: sink, header: s.header})
}

// connect returns a connection of the stream to a carrier.
//
// The sink belongs to the connection until end has returned.
func (s *Stream) connect(sink Sink) *streamConn {
	return &streamConn{st: s.st, sink: sink, header: s.header, leave: s.leave}
}

// streamConn is one connection that carries a stream. Senders write to it in their own goroutines;
// it has no goroutine of its own.
//
// begin attaches it. close may be called by any goroutine, at any time: when the stream ends, a
// write fails, the client disconnects or the token expires. After close, end runs once. It writes
// what is pending, detaches the connection, and calls leave.
//
// closed decides which goroutine ends the connection. heartbeats counts in beats what it has taken,
// under its lock, and end waits for that after leave, so no beat uses the sink afterwards. silent,
// expiry and the set of streams belong to heartbeats.
type streamConn struct {
	st        *stream
	sink      Sink
	header    []Field
	leave     func() // called once, at the end of end
	committed bool   // the header was written; guarded by stream.mu, or by pour while it runs
	primer    []byte // priming event at the start of the next part; may be nil; guarded like committed

	wrote  atomic.Bool   // something was written since the last look of heartbeats
	silent int           // consecutive looks that found nothing written; guarded by heartbeats.mu
	closed atomic.Bool   // nothing more is sent on this connection
	over   chan struct{} // with Serve: closed by close; with Begin: nil
	told   func()        // with Begin: called after end, which close runs in a goroutine of its own

	beating atomic.Bool    // beat is running, or is about to
	beats   sync.WaitGroup // counts the calls of heartbeats; end waits for them
	expiry  *time.Timer    // guarded by heartbeats.mu
}

// begin attaches the connection.
//
// The connection may be closed before begin returns. join then does not add it.
func (a *streamConn) begin(s *Stream) {
	if a.st.attach(a, s.from) {
		a.st.admitter.heartbeats.join(a, s.until)
	}
}

// close ends the connection: nothing more is sent on it. It does not block and needs no lock.
//
// It may be called with any lock. With Begin it starts the goroutine that ends the connection; with
// Serve it wakes the goroutine in Serve.
func (a *streamConn) close() {
	if a.closed.Swap(true) {
		return
	}
	if a.over != nil {
		close(a.over)
		return
	}
	go func() {
		defer a.told()
		defer a.st.admitter.log.Recover()
		a.end()
	}()
}

// end detaches the connection after everything pending was written, and calls leave. It is called
// once, after close.
//
// It takes the locks of heartbeats and of the stream, one after the other. The steps run in this
// order: no more beats, pending frames, detach, the end of the call, and leave.
func (a *streamConn) end() {
	defer a.leave()
	defer a.st.gone(errClientGone) // cancels nothing if the stream has ended, or another connection carries it
	defer a.st.part(a)
	a.st.admitter.heartbeats.leave(a)
	a.beats.Wait()
}

// expire ends the connection because the token has expired, or because the host stops and the
// stream would not end by itself. If the stream has onClosing, expire calls that instead, and the
// stream ends by itself later.
func (a *streamConn) expire() {
	if a.st.onClosing != nil {
		a.st.onClosing()
		return
	}
	a.close()
}
