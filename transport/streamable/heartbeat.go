package streamable

import (
	"slices"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/transport/internal/guarded"
)

// heartbeats do for all open streams of a gate what would cost each of them a timer and a
// goroutine: they show that those live on which nothing is sent, and tell those that
// wait for nothing that the host begins to stop.
//
// Their goroutine is there while streams are, and is waited for by the last that
// leaves.
type heartbeats struct {
	every   time.Duration
	closing <-chan struct{} // the host begins to stop; nil: it never says so

	mu       sync.Mutex // guards the fields below
	streams  map[*attachment]struct{}
	stopping bool          // those that were there have been told
	quit     chan struct{} // closed when the last has left
	done     chan struct{} // closed when the goroutine has ended
}

// join counts a stream in, until leave. One that is over already is not.
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

// add starts the goroutine with the first. Under h.mu.
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

// stop takes those that wait for nothing; whoever joins from now on is told at once.
func (h *heartbeats) stop() []*attachment {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopping = true
	return h.take(func(a *attachment) bool { return a.st.standalone })
}

// due takes those on which nothing was written since the last time. One that is stuck in
// its last beat is left alone.
func (h *heartbeats) due() []*attachment {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.take(func(a *attachment) bool { return !a.wrote.Swap(false) && !a.beating.Swap(true) })
}

// take makes each wait at its end for what is done with it. Under h.mu.
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

// At most so many at once are waited for, and so long: neither shall thousands wake
// together, nor the others wait for clients that do not read.
const (
	together  = 64
	tolerance = 5 * time.Millisecond
)

// each does something that may block to all that were taken.
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
