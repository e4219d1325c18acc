package streamable

import (
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
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
	h.taken = g.places.enter(h.client, 1, g.cfg.MaxStreams)
	return h.taken != nil
}

// EnterCalls counts the calls of a frame among those that a client has in flight, in all its
// sessions, until leave is called. client is of Entry.Client. ok is false if the client would
// have more than Config.MaxCalls.
func (g *Gate) EnterCalls(client string, frame []byte) (leave func(), ok bool) {
	calls, n := g.count(client, frame)
	if calls == nil {
		return nil, false
	}
	return func() { calls.leave(n) }, true
}

// count enters the calls of a frame: one, or as many as a batch has messages. A batch that alone
// is more than a client may have takes all that there is. The place is nil if there is no room.
func (g *Gate) count(client string, frame []byte) (calls *place, n int) {
	n = 1
	if jsonrpc.IsBatch(frame) && jsontext.Check(frame, jsontext.DefaultLimits()) == nil {
		n = min(max(1, jsontext.Len(frame)), g.cfg.MaxCalls)
	}
	return g.calls.enter(client, n, g.cfg.MaxCalls), n
}

// leave undoes enter.
func (g *Gate) leave(h holder) {
	if h.session != nil {
		h.session.open.Add(-1)
		return
	}
	h.taken.leave(1)
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

// enter returns the place of a client, in which n more are counted; nil: it would have more than
// most.
func (p *places) enter(client string, n, most int) *place {
	found, _ := p.known.Load(client)
	at, _ := found.(*place)
	for {
		if at == nil {
			at = p.add(client)
		}
		entered, known := at.enter(int64(n), int64(most))
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

// enter counts n more, unless there would be more than most, or the client is not known any more.
func (p *place) enter(n, most int64) (entered, known bool) {
	for {
		open := p.open.Load()
		switch {
		case open == forgotten:
			return false, false
		case open+n > most:
			return false, true
		case p.open.CompareAndSwap(open, open+n):
			return true, true
		}
	}
}

// leave undoes enter.
func (p *place) leave(n int) { p.open.Add(-int64(n)) }
