package stdio

import (
	"sync/atomic"
	"time"
)

const (
	burstStart = 8                      // up to this many consecutive frames are not a burst
	burstGap   = quick                  // a burst is over when no frame was sent for this long
	burstDelay = 100 * time.Microsecond // how long a frame of a burst is held back at most
)

// burst recognizes frames that are sent in quick succession while no frame is read, such as
// progress reports in a loop. One Write for each frame would be most of the work. The first frames
// of a burst are written at once. The rest is held back until burstDelay is over, the exchange that
// sends them ends, or heldBack bytes are waiting.
type burst struct {
	unasked atomic.Int32 // frames of the current burst since a frame was read; not counted while frames are held
	pending atomic.Bool  // frames of a burst are held back

	// Guarded by frameWriter.mu.
	epoch time.Time     // last is relative to it; if zero, nothing is held back
	last  time.Duration // time of the last append to line, or of the last Write
	timer *time.Timer   // calls flushBurst; nil until it is needed
}

// joinsBurst reports whether the frame that was just appended to line may stay there. The caller
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

// noteWritten is called after each Write, so that the time of the Write does not count as a gap
// between two frames. The caller holds w.mu.
func (w *frameWriter) noteWritten() {
	if !w.epoch.IsZero() {
		w.last = time.Since(w.epoch)
	}
}

// flushBurst writes the frames of a burst. It is called by the timer and at the end of each
// exchange.
func (w *frameWriter) flushBurst() {
	if !w.pending.Load() {
		return
	}
	w.mu.Lock()
	w.writeRest()
}
