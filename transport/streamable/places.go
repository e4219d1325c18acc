package streamable

import (
	"strings"
	"sync"
)

// holder is whose open streams are counted: a session, or else a client by its key.
type holder struct {
	session *session
	client  string
	taken   *int // the client's in places, while it is counted there
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

// leave undoes enter.
func (g *Gate) leave(h holder) {
	if h.session != nil {
		h.session.open.Add(-1)
		return
	}
	g.places.leave(h.taken)
}

// places counts the open streams of clients. It is asked for each request without a session, so that
// a client whose last stream has ended is not forgotten at once.
type places struct {
	mu    sync.Mutex // guards the fields below
	taken map[string]*int
	idle  int // how many of taken are 0
}

// remembered is how many idle clients places has at least before it forgets them.
const remembered = 256

// enter returns the counter of a client, in which one more is counted; nil: it has most.
func (p *places) enter(client string, most int) *int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.taken[client]
	switch {
	case n == nil:
		n = new(int)
		p.taken[strings.Clone(client)] = n // client may be part of the request's memory
	case *n >= most:
		return nil
	case *n == 0:
		p.idle--
	}
	*n++
	return n
}

// leave undoes an enter that returned n.
func (p *places) leave(n *int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if *n--; *n > 0 {
		return
	}
	if p.idle++; p.idle <= max(remembered, len(p.taken)/2) {
		return
	}
	for client, n := range p.taken {
		if *n == 0 {
			delete(p.taken, client)
		}
	}
	p.idle = 0
}
