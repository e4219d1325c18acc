package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/hostcall"
)

// leader is the state of the goroutine that reads and accepts frames, and serves the exchanges
// itself as long as they are quick. Waking another goroutine takes longer than most exchanges. If
// an exchange is slow, its goroutine stays with it, and another goroutine takes the lead; see
// turns. Only the goroutine in lead uses a leader.
//
// While frames are held back the leader holds a slot. When all slots are free, everything that was
// sent has therefore been written.
type leader struct {
	*serving
	turn  uint64        // of this leader, in turns.number
	more  bool          // the reader's buffer contains the next frame
	slot  bool          // the leader holds a slot
	held  bool          // sent frames may be held back
	since time.Duration // time when held was set

	now     time.Duration // time when the clock was last read; kept up to date only while held
	late    bool          // the previous exchange was not quick
	writes  uint64        // frameWriter.writes before the exchange
	watched bool          // the timer is set
	armed   time.Duration // the value of now when the timer was set
}

// lead reads and accepts frames until the input or the connection ends, or another goroutine takes
// the lead.
func (l *leader) lead() {
	returned := false
	defer func() {
		if !returned {
			l.handOver()
		}
	}()
	for l.step() {
	}
	returned = true
}

// handOver is called when a host has ended the goroutine (runtime.Goexit). If this goroutine was
// still the leader, a new goroutine continues in its place.
func (l *leader) handOver() {
	if l.number.Load()%oneTurn != busy && l.number.Load()/oneTurn == l.turn/oneTurn || l.back() {
		next := *l
		go next.lead()
		return
	}
	l.drop()
}

// step reads one frame and serves it. It returns false if this goroutine does not lead any more.
func (l *leader) step() bool {
	if !l.more {
		if !l.rest() {
			return false
		}
		if l.conn.Err() != nil {
			return l.leave(nil)
		}
	}
	frame, err := l.in.next()
	if !l.held {
		l.out.unasked.Store(0)
	}
	l.more = l.in.ready()
	if err != nil && !errors.Is(err, ErrFrameTooLong) {
		if errors.Is(err, io.EOF) {
			close(l.eof)
		}
		return l.leave(readFailure(err))
	}
	if !l.take() {
		return l.leave(nil)
	}
	var exchange transport.Exchange
	if err == nil {
		exchange, err = l.understand(frame)
	} else {
		exchange, err = tooLong(l.maxFrame), nil
	}
	switch {
	case err != nil:
		return l.leave(err)
	case exchange == nil:
		return true
	case l.apart == 0 || l.held:
		return l.serveHere(exchange, frame)
	default:
		return l.serveApart(exchange, frame)
	}
}

// readFailure returns the error that ended the input, or nil if the peer has closed it.
func readFailure(err error) error {
	if peerGone(err) {
		return nil
	}
	return fmt.Errorf("reading frames: %w", err)
}

// tooLong is the exchange of a frame that was skipped because it is longer than the limit.
type tooLong int

// Serve sends an error.
func (limit tooLong) Serve(ctx context.Context, out transport.Outbound) error {
	return out.Send(ctx, transport.Frame{JSON: hostcall.ErrorTooLong(int(limit)), Final: true})
}

// serveHere serves the exchange in this goroutine. If more frames have already been read, it holds
// back what the exchange sends. It returns false if another goroutine leads now.
func (l *leader) serveHere(exchange transport.Exchange, frame []byte) bool {
	if l.more && !l.held {
		l.now = time.Since(l.epoch)
		l.held, l.since = true, l.now
		l.out.hold()
	}
	l.writes = l.out.writes.Load()
	l.busy()
	l.serve(exchange, frame)
	if !l.back() {
		l.drop()
		return false
	}
	l.noteQuick()
	return !l.held || l.look()
}

// look flushes frames that have been held back for long enough. It returns false if another
// goroutine leads now.
func (l *leader) look() bool {
	before := l.now
	l.now = time.Since(l.epoch)
	late := l.now-before > quick && l.out.writes.Load() == l.writes // after a write the peer may be the slow one
	if late && l.late {                                             // a single slow exchange may be due to the machine
		l.noteSlow()
	}
	l.late = late
	if l.apart > 0 || l.now-l.since > quick {
		return l.flush()
	}
	return true
}

// serveApart serves the exchange in a goroutine of its own, which takes over the slot.
func (l *leader) serveApart(exchange transport.Exchange, frame []byte) bool {
	l.apart--
	l.slot = false
	l.workers.Run(acceptedFrame{exchange, frame})
	return true
}

// rest is called before a Read that may wait for the peer. It returns false if another goroutine
// leads now.
func (l *leader) rest() bool {
	if !l.flush() {
		return false
	}
	l.idle()
	l.drop()
	return true
}

// flush writes the frames that are held back. It returns false if another goroutine has taken the
// lead during the Write.
func (l *leader) flush() bool {
	if !l.held {
		return true
	}
	l.held = false
	l.busy()
	l.out.flush()
	if l.back() {
		return true
	}
	l.drop()
	return false
}

// take acquires a slot. It returns false if the connection accepts no more frames.
func (l *leader) take() bool {
	if l.slot {
		return l.conn.Err() == nil
	}
	if len(l.slots) == cap(l.slots) { // acquire may wait for a long time
		l.idle()
	}
	l.slot = l.acquire()
	return l.slot
}

// drop releases the slot, if the leader holds one.
func (l *leader) drop() {
	if l.slot {
		l.slot = false
		l.release()
	}
}

// leave ends reading, and passes the error that ended it to run.
func (l *leader) leave(err error) bool {
	l.idle()
	l.input <- err
	l.out.flush()
	l.drop()
	return false
}
