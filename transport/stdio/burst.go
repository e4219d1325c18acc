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

// burst recognizes frames that are sent in quick succession while nothing is read, such as progress
// reported in a loop: a Write for each would be most of the work. The first ones are written at
// once. The rest is held back until burstDelay is over, the exchange that sends them ends, or there
// is enough to write.
type burst struct {
	unasked atomic.Int32 // frames of the current burst since a frame was read; not counted while frames are held
	pending atomic.Bool  // frames of a burst are held back

	// Guarded by frameWriter.mu.
	epoch time.Time     // last is relative to it; zero: nothing is held back
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

// noteWritten is called after each Write: the time that the Write took does not count as a gap between
// two frames. The caller holds w.mu.
func (w *frameWriter) noteWritten() {
	if !w.epoch.IsZero() {
		w.last = time.Since(w.epoch)
	}
}

// flushBurst writes what a burst holds back. It is called by the timer and at the end of an exchange.
func (w *frameWriter) flushBurst() {
	if !w.pending.Load() {
		return
	}
	w.mu.Lock()
	w.writeRest()
}
