package stdio

import (
	"sync/atomic"
	"time"
)

const (
	// takeOver is how long a leader may be busy before another goroutine takes the lead. If the
	// timer was set for an earlier exchange, it is at least half of that.
	takeOver = 200 * time.Microsecond

	// quick is the longest time that a quick exchange takes. It is about the time to wake another
	// goroutine on an idle machine.
	quick = 50 * time.Microsecond

	// fewApart is the number of exchanges after a slow one that get goroutines of their own. Each
	// slow exchange doubles the number, up to mostApart, so that exchanges of a host that is
	// usually slow do not wait for each other. After soManyQuick consecutive quick exchanges the
	// number is halved: if slow exchanges are rarer than that, the machine was mostly busy with
	// something else, and goroutines cost more than they gain.
	fewApart, mostApart = 16, 1024
	soManyQuick         = 16
)

// What a leader is doing; the low bits of turns.number.
const (
	idle    = iota // it waits for the peer, and the timer is stopped
	between        // it reads what is available and accepts, and is about to be busy
	busy           // it serves or writes, and another goroutine may take the lead
	oneTurn = iota + 1
)

// turns is the state of the leader/followers pattern. The goroutine that reads is the leader. If it
// is busy for too long, another goroutine takes its place.
//
// A leader is idle, between or busy. Only the leader changes its own state (idle, back, busy). The
// one exception is relieve, in a goroutine of the timer: it replaces a busy leader by incrementing
// number with a compare-and-swap. The old leader notices that in back, and does not lead any more.
// The fields other than number are used only by the leader, except that rearm resets the timer.
type turns struct {
	// number identifies the leader, with its state in the low bits.
	number atomic.Uint64

	watch *time.Timer // calls relieve; nil until it is needed
	epoch time.Time   // the clocks of the leaders are relative to it
	apart int         // how many of the next exchanges get goroutines of their own
	after int         // what apart becomes after the next slow exchange
	quick int         // consecutive quick exchanges since after was changed
}

func newTurns(apart int) turns {
	return turns{epoch: time.Now(), apart: apart, after: apart}
}

// noteSlow is called after a slow exchange.
func (t *turns) noteSlow() {
	t.apart, t.quick = t.after, 0
	t.after = min(2*t.after, mostApart)
}

// noteQuick is called after a quick exchange.
func (t *turns) noteQuick() {
	if t.quick++; t.quick == soManyQuick {
		t.quick = 0
		t.after = max(t.after/2, min(t.after, 1))
	}
}

// relieve makes the calling goroutine the leader, if the current leader has been busy for too long.
// The timer calls it, in a goroutine of its own.
func (s *serving) relieve() {
	number := s.number.Load()
	next := number - busy + oneTurn
	if number%oneTurn != busy || !s.number.CompareAndSwap(number, next+between) {
		s.rearm()
		return
	}
	if s.out.writes.Load()%2 == 0 { // during a write the peer is slow, not the host
		s.noteSlow()
	}
	l := &leader{serving: s, turn: next, more: s.in.ready(), held: true}
	if l.flush() {
		l.lead()
	}
}

// rearm sets the timer again if it has fired while the leader was not busy. The leader relies on
// the timer for its next exchange.
func (s *serving) rearm() {
	for s.number.Load()%oneTurn != idle {
		s.watch.Reset(takeOver)
		if s.number.Load()%oneTurn != idle {
			return
		}
		// The leader has become idle. If it stopped the timer before the Reset, the timer must be
		// stopped here. If it has become busy again since, it needs the timer: hence the loop.
		s.watch.Stop()
	}
}

// busy notes that the leader begins to serve or to write. Unless it calls back within takeOver,
// another goroutine takes the lead.
func (l *leader) busy() {
	l.number.Store(l.turn + busy)
	// Setting the timer can take as long as an exchange.
	if l.watched && l.now-l.armed < takeOver/2 {
		return
	}
	if l.watch == nil {
		l.watch = time.AfterFunc(time.Hour, l.relieve)
	}
	l.watch.Reset(takeOver)
	l.watched, l.armed = true, l.now
}

// back ends busy. It returns false if another goroutine leads now.
func (l *leader) back() bool {
	return l.number.CompareAndSwap(l.turn+busy, l.turn+between)
}

// idle notes that the leader waits for the peer, and stops the timer.
func (l *leader) idle() {
	l.number.Store(l.turn + idle)
	if l.watched {
		l.watched = false
		l.watch.Stop()
	}
}
