package stdio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/hostcall"
	"github.com/kagami-mcp/kagami/transport/internal/workerpool"
)

var (
	errInputOver = errors.New("stdio: the connection takes no more frames")
	errGraceOver = errors.New("stdio: the grace period of the connection is over")
)

// serving is one run of Serve. The goroutine of Serve waits for the end (run). Another goroutine
// reads (see leader). Exchanges that the reading goroutine does not serve have goroutines of
// workers.
//
// Two contexts have the same transport.Connection: conn ends with the input, and work ends after
// the grace period.
type serving struct {
	*config
	host transport.Host
	log  *hostcall.Log
	raw  io.Reader
	in   *frameReader
	out  *frameWriter

	conn    context.Context         //nolint:containedctx // context of the connection; ends with the input
	hangUp  context.CancelCauseFunc // ends conn
	work    context.Context         //nolint:containedctx // context of the exchanges; ends when the grace period is over
	abandon context.CancelCauseFunc // ends work

	turns
	workers *workerpool.Pool[acceptedFrame] // serves the exchanges that the reading goroutine does not serve
	slots   chan struct{}                   // has a token for each running exchange, and for each slot that drain has taken
	taken   int                             // tokens that drain has taken; when it has all, no exchange runs
	eof     chan struct{}                   // closed when the peer has closed the input
	input   chan error                      // how reading ended; 1-buffered, so that the reader never waits for Serve
}

func newServing(ctx context.Context, c *config, host transport.Host, in io.Reader, out io.Writer) *serving {
	s := &serving{
		config: c,
		host:   host,
		log:    hostcall.NewLog(host, time.Minute),
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
	// When ctx ends, the grace period begins, and work goes on.
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

// acquire waits for a slot. It returns false if the connection accepts no more frames.
func (s *serving) acquire() bool {
	select {
	case s.slots <- struct{}{}:
	case <-s.conn.Done():
		return false
	}
	// Both may have been ready: an exchange that Serve has left behind releases its slot when
	// nothing may be accepted any more.
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

// serveAccepted serves an exchange and releases its slot.
func (s *serving) serveAccepted(e acceptedFrame) {
	defer s.release()
	s.serve(e.exchange, e.frame)
}

// serve runs an exchange, and recovers its panic.
func (s *serving) serve(exchange transport.Exchange, frame []byte) {
	defer s.out.flushBurst()
	hostcall.Serve(s.work, s.log, exchange, s.out, frame)
}

// understand calls Host.Accept. After a panic it returns neither an exchange nor an error: the
// panic concerns one frame and does not end the connection.
func (s *serving) understand(frame []byte) (exchange transport.Exchange, err error) {
	defer hostcall.Answer(s.work, s.log, s.out, frame)
	exchange, err = s.host.Accept(s.work, frame)
	if err != nil {
		return nil, fmt.Errorf("accepting a frame: %w", err)
	}
	return exchange, nil
}

// drain waits for the exchanges. It cancels those that still run after the grace period, or when
// the input and ctx have both ended, and closes the connection for writing. A client that closes
// the input and then ends ctx, for example with a signal, does not wait for the grace period.
func (s *serving) drain(ctx context.Context) {
	patience, grace := settle, defaultGrace
	if server, ok := s.host.(transport.Server); ok {
		grace = cmp.Or(server.Services().Grace, grace)
	}
	if !s.ended(s.graceOr(grace), s.out.gone.ch, ctx.Done(), s.eof) {
		s.abandon(errGraceOver)
		// An exchange that blocks in Write does not notice that its context has ended.
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

// ended waits until no exchange runs, by taking all slots. It returns false after d, when gone is
// closed, or when both over and eof are closed.
func (s *serving) ended(d time.Duration, gone, over, eof <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	first := true // true until over or eof is closed
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

// setReadDeadline interrupts a Read without closing the stream: answers may still be
// written. It reports whether that is possible.
func setReadDeadline(in io.Reader) bool {
	d, ok := in.(interface{ SetReadDeadline(time.Time) error })
	return ok && d.SetReadDeadline(time.Unix(1, 0)) == nil
}

// endReading waits for the reading goroutine, if its Read can be ended.
func (s *serving) endReading(interrupted bool) {
	if !interrupted && !closeReader(s.raw) {
		return
	}
	timer := time.NewTimer(settle)
	defer timer.Stop()
	select {
	case <-s.input: //nolint:errcheck // only the end of reading matters here
	case <-timer.C:
	}
}

func closeReader(in io.Reader) bool {
	c, ok := in.(io.Closer)
	// Closing the standard input does not end a Read, and the next file to be opened would get its
	// number.
	if !ok || in == io.Reader(os.Stdin) {
		return false
	}
	return c.Close() == nil
}
