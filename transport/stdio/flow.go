package stdio

import (
	"sync/atomic"
	"time"
)

const (
	fewUnasked = 8                      // so many frames are no flow yet
	ebb        = quick                  // when nothing comes for this long, a flow is over
	tide       = 100 * time.Microsecond // what is part of a flow is held back for this long
)

// flow is of frames that come fast and without anything being read, such as reports of
// progress out of a loop, for which a Write each would be most of the work. The first of
// them go out at once; what follows waits until tide is over, the exchange that sends
// ends, or there is enough of it.
type flow struct {
	unasked atomic.Int32 // frames that came fast since one was read; only without hold
	pending atomic.Bool  // some are held back for being part of a flow

	// Under the writer's mu.
	epoch time.Time     // of last; zero: nothing is held back
	last  time.Duration // when the last frame was put into line, or was written
	timer *time.Timer   // calls ebbs; nil until it is of use
}

// flows says whether the frame that was put into line may stay there. w.mu is held.
func (w *frameWriter) flows() bool {
	if w.epoch.IsZero() || w.unasked.Add(1) == 1 {
		return false
	}
	before := w.last
	w.last = time.Since(w.epoch)
	if w.last-before > ebb {
		w.unasked.Store(1)
	}
	if w.unasked.Load() <= fewUnasked {
		return false
	}
	if w.pending.Swap(true) {
		return true
	}
	if w.timer == nil {
		w.timer = time.AfterFunc(tide, w.ebbs)
	} else {
		w.timer.Reset(tide)
	}
	return true
}

// wrote is told of the end of each Write, which is no time that the sender took. w.mu is
// held.
func (w *frameWriter) wrote() {
	if !w.epoch.IsZero() {
		w.last = time.Since(w.epoch)
	}
}

// ebbs writes what is held back for being part of a flow.
func (w *frameWriter) ebbs() {
	if !w.pending.Load() {
		return
	}
	w.mu.Lock()
	w.writeRest()
}
