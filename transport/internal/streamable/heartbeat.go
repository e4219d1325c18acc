package streamable

import (
	"slices"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/transport/internal/hostcall"
)

// heartbeats serves all open streams of an Admitter, so that an idle stream needs neither a timer nor
// a goroutine: it writes a comment on streams on which nothing else is sent, before they
// are silent for longer than every, and ends standalone
// streams, which would never end by themselves, when the host begins to stop.
//
// One goroutine (run) does this. The first stream that joins starts it; the last one that leaves
// waits for its end.
type heartbeats struct {
	every   time.Duration
	closing <-chan struct{} // the host begins to stop; nil: it never says so

	mu       sync.Mutex // guards the fields below
	streams  map[*streamConn]struct{}
	stopping bool          // the host stops: the standalone streams that had joined were told
	quit     chan struct{} // closed when the last stream has left
	done     chan struct{} // closed when the goroutine has ended
}

// join adds a stream, unless it has been closed. A standalone stream that joins while the host
// stops is expired at once. until is when the stream's token expires; zero: never.
func (h *heartbeats) join(a *streamConn, until time.Time) {
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

// add adds a stream; the first one starts the goroutine. The caller holds h.mu.
func (h *heartbeats) add(a *streamConn, until time.Time) {
	if len(h.streams) == 0 {
		h.streams = make(map[*streamConn]struct{})
		h.stopping = false
		h.quit, h.done = make(chan struct{}), make(chan struct{})
		go h.run(h.quit, h.done)
	}
	h.streams[a] = struct{}{}
	if !until.IsZero() {
		a.expiry = time.AfterFunc(time.Until(until), a.expire)
	}
}

// leave removes a stream, if it has joined. After the last stream it waits for the goroutine.
func (h *heartbeats) leave(a *streamConn) {
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
	beat := time.NewTicker(max(h.every/looks, 1))
	defer beat.Stop()
	closing := h.closing
	for {
		select {
		case <-quit:
			return
		case <-closing:
			closing = nil
			each(h.stop(), (*streamConn).expire)
		case <-beat.C:
			each(h.due(), (*streamConn).beat)
		}
	}
}

// stop takes the standalone streams, to be expired. Those that join later are expired by join.
func (h *heartbeats) stop() []*streamConn {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopping = true
	return h.take(func(a *streamConn) bool { return a.st.standalone })
}

// looks is how often in the time between two heartbeats the streams are looked at.
const looks = 4

// due takes the streams that would otherwise be silent for longer than h.every by the next look,
// except those whose last beat still blocks: a stream is taken when nothing was written on it in
// three intervals between two looks, to which up to one before them adds.
func (h *heartbeats) due() []*streamConn {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.take(func(a *streamConn) bool {
		if a.wrote.Swap(false) {
			a.silent = 0
			return false
		}
		a.silent++
		return a.silent >= looks-1 && !a.beating.Swap(true)
	})
}

// take returns the streams that which selects. From now on streamConn.end waits until each has
// called do for the stream. The caller holds h.mu.
func (h *heartbeats) take(which func(*streamConn) bool) []*streamConn {
	var all []*streamConn
	for a := range h.streams {
		if which(a) {
			a.beats.Add(1)
			all = append(all, a)
		}
	}
	return all
}

// each starts at most so many goroutines together, and waits at most so long for them before it
// starts more: thousands of streams must not be woken at once, nor wait for a client that does
// not read.
const (
	together  = 64
	tolerance = 5 * time.Millisecond
)

// each calls do, which may block, for all streams of take, each in a goroutine of its own.
func each(all []*streamConn, do func(*streamConn)) {
	for some := range slices.Chunk(all, together) {
		ended := make(chan struct{}, len(some))
		for _, a := range some {
			go func() {
				defer func() { ended <- struct{}{} }()
				defer a.beats.Done()
				defer hostcall.Recover()
				do(a)
			}()
		}
		await(ended, len(some))
	}
}

// await receives n times from ended, but waits no longer than tolerance.
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
