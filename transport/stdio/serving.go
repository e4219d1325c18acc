package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/hostcall"
	"github.com/kagami-mcp/kagami/transport/internal/workerpool"
)

var (
	errInputOver = errors.New("stdio: the connection takes no more frames")
	errGraceOver = errors.New("stdio: the grace period of the connection is over")
)

// serving is one run of Serve. The goroutine of Serve waits for the end (run), another one
// reads (see leader), and exchanges that are not served by that one have goroutines of
// workers.
//
// Two contexts hold the same transport.Connection: conn ends with the input, work after the
// grace period.
type serving struct {
	*config
	host transport.Host
	raw  io.Reader
	in   *frameReader
	out  *frameWriter

	conn    context.Context         //nolint:containedctx // the connection's: it ends with the input
	hangUp  context.CancelCauseFunc // ends conn
	work    context.Context         //nolint:containedctx // the exchanges': it ends when the grace is over
	abandon context.CancelCauseFunc // ends work

	turns
	workers *workerpool.Pool[acceptedFrame] // serves the exchanges that do not run where frames are read
	slots   chan struct{}                   // holds a token for each exchange that runs, and for each that drain has taken
	taken   int                             // tokens that drain has taken: when it has all, no exchange runs
	eof     chan struct{}                   // closed when the peer has closed the input
	input   chan error                      // how reading ended; 1-buffered, so that the reader never waits for Serve
}

func newServing(ctx context.Context, c *config, host transport.Host, in io.Reader, out io.Writer) *serving {
	s := &serving{
		config: c,
		host:   host,
		raw:    in,
		in:     newFrameReader(in, c.maxFrame),
		out:    newFrameWriter(out),
		slots:  make(chan struct{}, c.maxConcurrent),
		input:  make(chan error, 1),
		eof:    make(chan struct{}),
		turns:  newTurns(c.fewApart),
	}
	s.out.epoch = s.epoch
	peer := c.peer
	if peer.Out == nil {
		peer.Out = s.out
	}
	// The end of ctx is the start of the grace period, not the end of the work.
	s.conn, s.hangUp = context.WithCancelCause(context.WithoutCancel(ctx))
	s.conn = transport.Connect(s.conn, peer)
	s.work, s.abandon = context.WithCancelCause(context.WithoutCancel(s.conn))
	s.workers = workerpool.New(nil, s.serveAccepted)
	return s
}

// run waits until the input, ctx or writing ends, and then for the exchanges.
func (s *serving) run(ctx context.Context) error {
	go (&leader{serving: s}).lead()
	var err error
	reading := true
	select {
	case err = <-s.input:
		reading = false
	case <-ctx.Done():
	case <-s.out.gone.ch:
	}
	s.hangUp(errInputOver)
	s.workers.Stop()
	s.drain(ctx)
	if reading {
		s.endReading(setReadDeadline(s.raw))
	}
	if werr := s.out.gone.err; err == nil && !peerGone(werr) {
		err = werr
	}
	return err
}

// acquire waits for a slot. False: the connection takes no more.
func (s *serving) acquire() bool {
	select {
	case s.slots <- struct{}{}:
	case <-s.conn.Done():
		return false
	}
	// Both may have been ready: an exchange that Serve has left behind gives its
	// slot back when nothing may be accepted any more.
	if s.conn.Err() != nil {
		s.release()
		return false
	}
	return true
}

func (s *serving) release() { <-s.slots }

// acceptedFrame is an exchange that has a slot.
type acceptedFrame struct {
	exchange transport.Exchange
	frame    []byte
}

// serveAccepted serves an exchange and gives back its slot.
func (s *serving) serveAccepted(e acceptedFrame) {
	defer s.release()
	s.serve(e.exchange, e.frame)
}

// serve runs an exchange, and survives its panic.
func (s *serving) serve(exchange transport.Exchange, frame []byte) {
	defer s.out.flushBurst()
	defer s.recovered(frame)
	// The error is that of a failed Send, which has ended the connection.
	_ = exchange.Serve(s.work, s.out)
}

// understand is Host.Accept. It returns nothing at all after a panic, which is
// the fault of one frame and does not end the connection.
func (s *serving) understand(frame []byte) (exchange transport.Exchange, err error) {
	defer s.recovered(frame)
	exchange, err = s.host.Accept(s.work, frame)
	if err != nil {
		return nil, fmt.Errorf("accepting a frame: %w", err)
	}
	return exchange, nil
}

// recovered is to be deferred around the host: it answers a panic in place of the exchange.
func (s *serving) recovered(frame []byte) {
	value := recover()
	if value == nil {
		return
	}
	s.onPanic(value, debug.Stack())
	if answer := hostcall.ErrorPanicked(frame); answer != nil {
		_ = s.out.Send(s.work, transport.Frame{JSON: answer})
	}
}

// drain waits for the exchanges, cancels those that are left after the grace period, or when both
// the input and ctx have ended, and closes the connection for writing: who has closed the input and
// then wants an end does not wait for the grace period.
func (s *serving) drain(ctx context.Context) {
	patience := settle
	if !s.ended(s.graceOr(defaultGrace), s.out.gone.ch, ctx.Done(), s.eof) {
		s.abandon(errGraceOver)
		// One that blocks in Write does not see its context.
		if d, ok := s.out.out.(interface{ SetWriteDeadline(time.Time) error }); ok {
			_ = d.SetWriteDeadline(time.Now().Add(settle))
		}
		if !s.ended(settle, nil, nil, nil) {
			patience = 0
		}
	}
	s.abandon(errGraceOver)
	s.out.close(patience)
}

// ended takes all slots, that is, waits until no exchange runs; for at most d, or
// until gone, or both of the others, are closed.
func (s *serving) ended(d time.Duration, gone, over, eof <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	first := true // of over and eof
	for s.taken < cap(s.slots) {
		select {
		case s.slots <- struct{}{}:
			s.taken++
			continue
		default:
		}
		select {
		case s.slots <- struct{}{}:
			s.taken++
			continue
		case <-timer.C:
			return false
		case <-gone:
			return false
		case <-over:
			over = nil
		case <-eof:
			eof = nil
		}
		if !first {
			return false
		}
		first = false
	}
	return true
}

// setReadDeadline interrupts a Read where that can be done without closing the
// stream, which may be the one that the answers go to.
func setReadDeadline(in io.Reader) bool {
	d, ok := in.(interface{ SetReadDeadline(time.Time) error })
	return ok && d.SetReadDeadline(time.Unix(1, 0)) == nil
}

// endReading waits for the reading goroutine where it can be made to end.
func (s *serving) endReading(interrupted bool) {
	if !interrupted && !closeReader(s.raw) {
		return
	}
	timer := time.NewTimer(settle)
	defer timer.Stop()
	select {
	case <-s.input: //nolint:errcheck // that reading ended is all that counts here
	case <-timer.C:
	}
}

func closeReader(in io.Reader) bool {
	c, ok := in.(io.Closer)
	// Closing the standard input does not end a Read, and what is opened next
	// would get its number.
	if !ok || in == io.Reader(os.Stdin) {
		return false
	}
	return c.Close() == nil
}
