package streamable

import (
	"math"
	"strings"
	"sync"
	"sync/atomic"
)

// holder is whose open streams are counted: a session, or else a client by its key.
type holder struct {
	session *session
	client  string
	taken   *place // the client's, while it is counted there
}

// owner is the client, by its key.
func (h *holder) owner() string {
	if h.session != nil {
		return h.session.opener
	}
	return h.client
}

// enter counts one more open stream of a holder, until leave. It returns false if there are too
// many.
func (g *Gate) enter(h *holder) bool {
	if h.session != nil {
		return h.session.enter(g.cfg.MaxStreams)
	}
	h.taken = g.places.enter(h.client, g.cfg.MaxStreams)
	return h.taken != nil
}

// EnterCall counts one more call in flight of a client, in all its sessions, until leave is called.
// client is of Entry.Client. ok is false if the client has Config.MaxCalls already.
func (g *Gate) EnterCall(client string) (leave func(), ok bool) {
	call := g.calls.enter(client, g.cfg.MaxCalls)
	if call == nil {
		return nil, false
	}
	return call.leave, true
}

// leave undoes enter.
func (g *Gate) leave(h holder) {
	if h.session != nil {
		h.session.open.Add(-1)
		return
	}
	h.taken.leave()
}

// places counts the open streams of clients, or their calls. It is asked for each request without a session, so that a
// client whose last stream has ended is not forgotten at once, and no lock is taken for one that is known.
type places struct {
	known sync.Map // of *place, by client

	mu    sync.Mutex // guards the fields below, and what is added to known
	count int        // of known
	most  int        // how many may be known before those without a stream are forgotten
}

// remembered is how many clients places knows at least before it forgets any.
const remembered = 256

// enter returns the place of a client, in which one more is counted; nil: it has most.
func (p *places) enter(client string, most int) *place {
	found, _ := p.known.Load(client)
	at, _ := found.(*place)
	for {
		if at == nil {
			at = p.add(client)
		}
		entered, known := at.enter(int64(most))
		switch {
		case entered:
			return at
		case known:
			return nil
		}
		at = nil
	}
}

// add returns the place of a client, and makes it if there is none. Because those without a stream
// are forgotten first if there are too many, at most twice as many are known as had one then.
func (p *places) add(client string) *place {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at, ok := p.known.Load(client); ok {
		return at.(*place) //nolint:forcetypeassert // there is nothing else
	}
	if p.count >= p.most {
		p.forget()
		p.most = max(remembered, 2*p.count)
	}
	p.count++
	at := new(place)
	p.known.Store(strings.Clone(client), at) // client may be part of the request's memory
	return at
}

// forget forgets the clients without a stream. The caller holds p.mu.
func (p *places) forget() {
	for client, at := range p.known.Range {
		if at.(*place).open.CompareAndSwap(0, forgotten) { //nolint:forcetypeassert // there is nothing else
			p.known.Delete(client)
			p.count--
		}
	}
}

// place counts the open streams of one client.
type place struct {
	open atomic.Int64
	_    [56]byte // padding: one cache line per client
}

// forgotten is the number of a client that is not known any more, for good.
const forgotten = math.MinInt64

// enter counts one more, unless there are most, or the client is not known any more.
func (p *place) enter(most int64) (entered, known bool) {
	for {
		n := p.open.Load()
		switch {
		case n == forgotten:
			return false, false
		case n >= most:
			return false, true
		case p.open.CompareAndSwap(n, n+1):
			return true, true
		}
	}
}

// leave undoes enter.
func (p *place) leave() { p.open.Add(-1) }
