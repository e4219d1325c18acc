package streamable

import (
	"slices"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/transport/internal/guarded"
)

// pulse does for all open streams of a gate what would cost each of them a timer and a
// goroutine: it shows that those live on which nothing is sent, and tells those that
// wait for nothing that the host begins to stop.
//
// Its own goroutine is there while streams are, and is waited for by the last that
// leaves.
type pulse struct {
	heartbeat time.Duration
	closing   <-chan struct{} // the host begins to stop; nil: it never says so

	mu       sync.Mutex // guards the fields below
	streams  map[*attachment]struct{}
	stopping bool          // those that were there have been told
	quit     chan struct{} // closed when the last has left
	done     chan struct{} // closed when the goroutine has ended
}

// join counts a stream in, until leave. One that is over already is not.
func (p *pulse) join(a *attachment, until time.Time) {
	p.mu.Lock()
	late := p.stopping && a.st.standalone
	if !a.closed.Load() && !late {
		p.add(a, until)
	}
	p.mu.Unlock()
	if late {
		a.expire()
	}
}

// add starts the goroutine with the first. Under p.mu.
func (p *pulse) add(a *attachment, until time.Time) {
	if len(p.streams) == 0 {
		p.streams = make(map[*attachment]struct{})
		p.stopping = false
		p.quit, p.done = make(chan struct{}), make(chan struct{})
		go p.run(p.quit, p.done)
	}
	p.streams[a] = struct{}{}
	if !until.IsZero() {
		a.expiry = time.AfterFunc(time.Until(until), a.expire)
	}
}

func (p *pulse) leave(a *attachment) {
	p.mu.Lock()
	if _, ok := p.streams[a]; !ok {
		p.mu.Unlock()
		return
	}
	delete(p.streams, a)
	if a.expiry != nil {
		a.expiry.Stop()
	}
	last, done := len(p.streams) == 0, p.done
	if last {
		close(p.quit)
	}
	p.mu.Unlock()
	if last {
		<-done
	}
}

func (p *pulse) run(quit, done chan struct{}) {
	defer close(done)
	beat := time.NewTicker(p.heartbeat)
	defer beat.Stop()
	closing := p.closing
	for {
		select {
		case <-quit:
			return
		case <-closing:
			closing = nil
			each(p.stop(), (*attachment).expire)
		case <-beat.C:
			each(p.due(), (*attachment).beat)
		}
	}
}

// stop takes those that wait for nothing; whoever joins from now on is told at once.
func (p *pulse) stop() []*attachment {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopping = true
	return p.take(func(a *attachment) bool { return a.st.standalone })
}

// due takes those on which nothing was written since the last time. One that is stuck in
// its last beat is left alone.
func (p *pulse) due() []*attachment {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.take(func(a *attachment) bool { return !a.wrote.Swap(false) && !a.beating.Swap(true) })
}

// take makes each wait at its end for what is done with it. Under p.mu.
func (p *pulse) take(which func(*attachment) bool) []*attachment {
	var all []*attachment
	for a := range p.streams {
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
