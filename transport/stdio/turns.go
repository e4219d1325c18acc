package stdio

import (
	"sync/atomic"
	"time"
)

const (
	// takeOver is how long a busy leader keeps others waiting; half of it if the timer
	// was set for what came before.
	takeOver = 200 * time.Microsecond

	// quick is an exchange that ends within this time, which is about what it takes to wake
	// another goroutine on a machine with nothing else to do.
	quick = 50 * time.Microsecond

	// So many exchanges after a slow one have goroutines of their own: more the more often
	// that happens, so that a host that is slow as a rule keeps nobody waiting, and fewer
	// after so many quick ones. Below that rate of slow ones it is as a rule the machine
	// that was busy with something else, and goroutines cost more than they gain.
	fewApart, mostApart = 16, 1024
	soManyQuick         = 16
)

// What a leader is doing; the low bits of turns.number.
const (
	idle    = iota // it waits for the peer, and nothing is to be watched
	between        // it reads what there is, accepts, and is about to be busy
	busy           // it serves or writes: another one may lead
	oneTurn = iota + 1
)

// turns is what those goroutines share that read, one after another. Whoever reads is
// the leader. All but number is the leader's.
type turns struct {
	// number is that of the leader and what it is doing. A busy one is relieved by
	// counting up; it finds out when it comes back.
	number atomic.Uint64

	watch *time.Timer // calls relieve; nil until it is of use
	epoch time.Time   // of the leaders' clocks
	apart int         // exchanges that are to have goroutines of their own
	after int         // how many of them there will be after the next that is slow
	quick int         // exchanges that were since after was changed
}

func newTurns(apart int) turns {
	return turns{epoch: time.Now(), apart: apart, after: apart}
}

// slow is told of an exchange that was.
func (t *turns) slow() {
	t.apart, t.quick = t.after, 0
	t.after = min(2*t.after, mostApart)
}

// swift is told of one that was not.
func (t *turns) swift() {
	if t.quick++; t.quick == soManyQuick {
		t.quick = 0
		t.after = max(t.after/2, min(t.after, 1))
	}
}

// relieve makes the calling goroutine the leader, if the one there is has been busy for
// too long.
func (s *serving) relieve() {
	number := s.number.Load()
	next := number - busy + oneTurn
	if number%oneTurn != busy || !s.number.CompareAndSwap(number, next+between) {
		s.goOn()
		return
	}
	if s.out.writes.Load()%2 == 0 { // else the peer is slow to read, and not the host
		s.slow()
	}
	l := &leader{serving: s, turn: next, more: s.in.ready(), held: true}
	if l.flush() {
		l.lead()
	}
}

// goOn sets the timer again, which has run out while the leader was not busy: it may
// rely on it for what it does next.
func (s *serving) goOn() {
	for s.number.Load()%oneTurn != idle {
		s.watch.Reset(takeOver)
		if s.number.Load()%oneTurn != idle {
			return
		}
		s.watch.Stop() // it may have stopped it just before, and may have set it since
	}
}

// busy lets another one lead, if it takes longer than takeOver until back.
func (l *leader) busy() {
	l.number.Store(l.turn + busy)
	// To set a timer takes as long as many an exchange.
	if l.watched && l.now-l.armed < takeOver/2 {
		return
	}
	if l.watch == nil {
		l.watch = time.AfterFunc(time.Hour, l.relieve)
	}
	l.watch.Reset(takeOver)
	l.watched, l.armed = true, l.now
}

// back is false if another one leads.
func (l *leader) back() bool {
	return l.number.CompareAndSwap(l.turn+busy, l.turn+between)
}

// idle lets the timer rest.
func (l *leader) idle() {
	l.number.Store(l.turn + idle)
	if l.watched {
		l.watched = false
		l.watch.Stop()
	}
}
