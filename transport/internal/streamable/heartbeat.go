package streamable

import (
	"slices"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/transport/internal/hostcall"
	"github.com/kagami-mcp/kagami/transport/internal/inflight"
)

// heartbeats serves all open streams of an Admitter, so that an idle stream needs neither a timer
// nor a goroutine. It writes a comment on streams without other frames, before they are
// silent for longer than every. When the host begins to stop, it ends the standalone streams, which
// would never end by themselves.
//
// One goroutine (run) does this. The first stream that joins starts it; the last stream that leaves
// waits for its end. mu guards the set of streams. A stream that take has returned stays valid
// after the unlock, because its end waits for beats.
//
// No lock of a stream is taken under mu. run reads the set under mu, and calls beat and expire
// after it, in goroutines of their own. A stream that joins when the last one is leaving starts a
// new goroutine: quit and done belong to one goroutine each.
type heartbeats struct {
	every   time.Duration
	closing <-chan struct{} // closed when the host begins to stop; may be nil

	mu       sync.Mutex // guards the fields below
	streams  map[*streamConn]struct{}
	stopping bool          // the host stops, and the standalone streams that had joined were expired
	quit     chan struct{} // closed when the last stream has left
	done     chan struct{} // closed when the goroutine has ended
}

// join adds a stream, unless it has been closed. If the host is stopping, join expires a standalone
// stream at once. until is the time when the stream's token expires; zero means never.
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

// add adds a stream, and starts the goroutine for the first one. The caller holds h.mu.
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

// leave removes a stream, if it has joined. If it is the last one, leave waits for the goroutine.
//
// It must not be called with stream.mu, because the goroutine may first wait for beats, which take
// that lock.
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

// run is the goroutine. It ends when quit is closed.
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

// stop takes the standalone streams, to expire them. join expires those that come later.
func (h *heartbeats) stop() []*streamConn {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopping = true
	return h.take(func(a *streamConn) bool { return a.st.standalone })
}

// looks is the number of looks at the streams per heartbeat interval.
const looks = 8

// due takes the streams that would otherwise be silent for h.every at the next look, except streams
// with a last beat that still blocks. It takes a stream if nothing was written on it for all but
// two of the intervals between looks: the last write may be up to one interval older, and the beat
// needs the other one to reach the client.
func (h *heartbeats) due() []*streamConn {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.take(func(a *streamConn) bool {
		if a.wrote.Swap(false) {
			a.silent = 0
			return false
		}
		a.silent++
		return a.silent >= looks-2 && !a.beating.Swap(true)
	})
}

// take returns the streams that the function which selects. From then on streamConn.end
// waits until each has called do for the stream. The caller holds h.mu.
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

// Each starts at most together goroutines at once, and waits at most tolerance for them before it
// starts more. Thousands of streams must not be woken at the same time, or wait for a client that
// does not read.
const (
	together  = 64
	tolerance = 5 * time.Millisecond
)

// each calls do for all streams of take, with eachInGoroutine. Before a stream ends, it waits for the
// call (beats).
func each(all []*streamConn, do func(*streamConn)) {
	if len(all) == 0 {
		return
	}
	eachInGoroutine(all[0].st.admitter.log, all, func(a *streamConn) {
		defer a.beats.Done()
		do(a)
	})
}

// eachInGoroutine calls do for all elements. do may wait for clients that do not read. Each call has its
// own goroutine, and its panic is logged and recovered.
//
// eachInGoroutine does not wait until all calls have returned. If the caller must wait for them, it
// counts them.
func eachInGoroutine[T any](logs *hostcall.Log, all []T, do func(T)) {
	for some := range slices.Chunk(all, together) {
		ended := make(chan struct{}, len(some))
		for _, element := range some {
			go func() {
				defer func() { ended <- struct{}{} }()
				defer logs.Recover()
				do(element)
			}()
		}
		await(ended, len(some))
	}
}

// EachCounted is like eachInGoroutine, and counts the calls in running, so that running.Drain waits for them.
func EachCounted[T any](logs *hostcall.Log, all []T, running *inflight.Counter, do func(T)) {
	for range all {
		running.Add()
	}
	eachInGoroutine(logs, all, func(element T) {
		defer running.Done()
		do(element)
	})
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
