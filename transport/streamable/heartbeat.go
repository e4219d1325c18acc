package streamable

import (
	"slices"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/transport/internal/guarded"
)

// heartbeats do for all open streams of a gate what would otherwise cost each of them a timer
// and a goroutine: they write comments on streams on which nothing else is sent, and tell the
// standalone ones, which would never end, that the host begins to stop.
//
// One goroutine (run) does so. The first stream that joins starts it, and the last that
// leaves waits for its end.
type heartbeats struct {
	every   time.Duration
	closing <-chan struct{} // the host begins to stop; nil: it never says so

	mu       sync.Mutex // guards the fields below
	streams  map[*attachment]struct{}
	stopping bool          // the streams that were there have been told that the host stops
	quit     chan struct{} // closed when the last has left
	done     chan struct{} // closed when the goroutine has ended
}

// join counts a stream in, until leave or its end. A standalone one that joins while the host
// stops is told at once. until is when the stream's token expires; zero: never.
func (h *heartbeats) join(a *attachment, until time.Time) {
	h.mu.Lock()
	late := h.stopping && a.st.standalone
	if !a.closed.Load() && !late {
		h.add(a, until)
	}
	h.mu.Unlock()
	if late {
		a.expire()
	}
}

// add counts a stream in, and starts the goroutine with the first. Under h.mu.
func (h *heartbeats) add(a *attachment, until time.Time) {
	if len(h.streams) == 0 {
		h.streams = make(map[*attachment]struct{})
		h.stopping = false
		h.quit, h.done = make(chan struct{}), make(chan struct{})
		go h.run(h.quit, h.done)
	}
	h.streams[a] = struct{}{}
	if !until.IsZero() {
		a.expiry = time.AfterFunc(time.Until(until), a.expire)
	}
}

// leave counts a stream out, if it is in. With the last it waits for the goroutine.
func (h *heartbeats) leave(a *attachment) {
	h.mu.Lock()
	if _, ok := h.streams[a]; !ok {
		h.mu.Unlock()
		return
	}
	delete(h.streams, a)
	if a.expiry != nil {
		a.expiry.Stop()
	}
	last, done := len(h.streams) == 0, h.done
	if last {
		close(h.quit)
	}
	h.mu.Unlock()
	if last {
		<-done
	}
}

func (h *heartbeats) run(quit, done chan struct{}) {
	defer close(done)
	beat := time.NewTicker(h.every)
	defer beat.Stop()
	closing := h.closing
	for {
		select {
		case <-quit:
			return
		case <-closing:
			closing = nil
			each(h.stop(), (*attachment).expire)
		case <-beat.C:
			each(h.due(), (*attachment).beat)
		}
	}
}

// stop takes the standalone streams. Those that join from now on are told by join.
func (h *heartbeats) stop() []*attachment {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopping = true
	return h.take(func(a *attachment) bool { return a.st.standalone })
}

// due takes the streams on which nothing was written since the last beat. One whose last
// beat still blocks is left out.
func (h *heartbeats) due() []*attachment {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.take(func(a *attachment) bool { return !a.wrote.Swap(false) && !a.beating.Swap(true) })
}

// take returns the streams that which chooses. The end of each waits from now on until each
// has called do for it. Under h.mu.
func (h *heartbeats) take(which func(*attachment) bool) []*attachment {
	var all []*attachment
	for a := range h.streams {
		if which(a) {
			a.beats.Add(1)
			all = append(all, a)
		}
	}
	return all
}

// Bounds of each: it starts so many goroutines together, and waits so long for them before
// it starts the next. Thousands of streams must not wake at once, nor wait for clients that
// do not read.
const (
	together  = 64
	tolerance = 5 * time.Millisecond
)

// each calls do, which may block, for all that were taken, each in a goroutine of its own.
func each(all []*attachment, do func(*attachment)) {
	for some := range slices.Chunk(all, together) {
		ended := make(chan struct{}, len(some))
		for _, a := range some {
			go func() {
				defer func() { ended <- struct{}{} }()
				defer a.beats.Done()
				defer guarded.Recover()
				do(a)
			}()
		}
		await(ended, len(some))
	}
}

// await waits for n of ended, for tolerance at most.
func await(ended <-chan struct{}, n int) {
	late := time.NewTimer(tolerance)
	defer late.Stop()
	for range n {
		select {
		case <-ended:
		case <-late.C:
			return
		}
	}
}
