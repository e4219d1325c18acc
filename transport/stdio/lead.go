package stdio

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/refusal"
)

// leader is the goroutine that reads, accepts, and serves itself as long as exchanges
// are quick: to wake another goroutine for an exchange takes longer than most of them
// do. A slow one keeps the goroutine, and another one leads.
//
// While frames are held back the leader holds a slot: when all slots are free, what was
// sent has been written.
type leader struct {
	*serving
	turn  uint64        // its number
	more  bool          // the next frame has been read from the stream already
	slot  bool          // it holds one
	held  bool          // frames may be held back
	since time.Duration // when that began

	now     time.Duration // when held, the clock as it was last looked at
	late    bool          // the exchange before was not quick
	writes  uint64        // as the writer counts them, before the exchange
	watched bool          // the timer is set
	armed   time.Duration // when held, when that was
}

// lead reads and accepts until the input or the connection ends, or another one leads.
func (l *leader) lead() {
	returned := false
	defer func() {
		if !returned {
			l.succeed()
		}
	}()
	for l.step() {
	}
	returned = true
}

// succeed is for a host that ends the goroutine (runtime.Goexit).
func (l *leader) succeed() {
	if l.number.Load()%oneTurn != busy && l.number.Load()/oneTurn == l.turn/oneTurn || l.back() {
		next := *l
		go next.lead()
		return
	}
	l.drop()
}

// step is one frame. False: the goroutine does not lead any more.
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
		return l.here(exchange, frame)
	default:
		return l.elsewhere(exchange, frame)
	}
}

func readFailure(err error) error {
	if peerGone(err) {
		return nil
	}
	return fmt.Errorf("reading frames: %w", err)
}

// tooLong is the exchange of a frame that was skipped.
type tooLong int

// Serve answers it.
func (limit tooLong) Serve(ctx context.Context, out transport.Outbound) error {
	return out.Send(ctx, refusal.TooLong(int(limit)))
}

// here serves the exchange. What it sends is held back if others follow at once.
func (l *leader) here(exchange transport.Exchange, frame []byte) bool {
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
	l.swift()
	return !l.held || l.look()
}

// look sees to it that nothing is held back for long. False: another one leads.
func (l *leader) look() bool {
	before := l.now
	l.now = time.Since(l.epoch)
	late := l.now-before > quick && l.out.writes.Load() == l.writes // else the peer may be slow
	if late && l.late {                                             // one alone may be the machine's fault
		l.slow()
	}
	l.late = late
	if l.apart > 0 || l.now-l.since > quick {
		return l.flush()
	}
	return true
}

// elsewhere serves the exchange in a goroutine of its own, which gets the slot.
func (l *leader) elsewhere(exchange transport.Exchange, frame []byte) bool {
	l.apart--
	l.slot = false
	l.crew.Do(errand{exchange, frame})
	return true
}

// rest is what comes before waiting for the peer.
func (l *leader) rest() bool {
	if !l.flush() {
		return false
	}
	l.idle()
	l.drop()
	return true
}

// flush writes what is held back. False: that took too long, and another one leads.
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

// take gets a slot. False: the connection takes no more.
func (l *leader) take() bool {
	if l.slot {
		return l.conn.Err() == nil
	}
	if len(l.slots) == cap(l.slots) { // it may have to wait for long
		l.idle()
	}
	l.slot = l.acquire()
	return l.slot
}

// drop gives back the slot.
func (l *leader) drop() {
	if l.slot {
		l.slot = false
		l.release()
	}
}

// leave is the end of reading.
func (l *leader) leave(err error) bool {
	l.idle()
	l.input <- err
	l.out.flush()
	l.drop()
	return false
}
