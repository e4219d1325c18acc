package stdio

import (
	"sync/atomic"
	"time"
)

const (
	burstStart = 8                      // so many frames in a row are no burst yet
	burstGap   = quick                  // when no frame comes for this long, a burst is over
	burstDelay = 100 * time.Microsecond // a frame of a burst is held back for this long at most
)

// burst recognizes frames that come fast while nothing is read, such as reports of progress
// out of a loop: a Write for each would be most of the work. The first of them are written
// at once. Those that follow are held back until burstDelay is over, the exchange that sends
// them ends, or there is enough to write.
type burst struct {
	unasked atomic.Int32 // frames of the present burst, since one was read; not counted while frames are held
	pending atomic.Bool  // frames of a burst are held back

	// Under the writer's mu.
	epoch time.Time     // what last counts from; zero: nothing is held back
	last  time.Duration // when the last frame was appended to line, or written
	timer *time.Timer   // calls flushBurst; nil until it is needed
}

// joinsBurst says whether the frame that was just appended to line may stay there. The caller
// holds w.mu.
func (w *frameWriter) joinsBurst() bool {
	if w.epoch.IsZero() || w.unasked.Add(1) == 1 {
		return false
	}
	before := w.last
	w.last = time.Since(w.epoch)
	if w.last-before > burstGap {
		w.unasked.Store(1)
	}
	if w.unasked.Load() <= burstStart {
		return false
	}
	if w.pending.Swap(true) {
		return true
	}
	if w.timer == nil {
		w.timer = time.AfterFunc(burstDelay, w.flushBurst)
	} else {
		w.timer.Reset(burstDelay)
	}
	return true
}

// noteWritten is called after each Write: the time that it took is not one between two
// frames of the sender. The caller holds w.mu.
func (w *frameWriter) noteWritten() {
	if !w.epoch.IsZero() {
		w.last = time.Since(w.epoch)
	}
}

// flushBurst writes what a burst holds back. The timer calls it, and whoever ends an exchange.
func (w *frameWriter) flushBurst() {
	if !w.pending.Load() {
		return
	}
	w.mu.Lock()
	w.writeRest()
}
