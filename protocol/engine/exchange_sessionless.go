package engine

import (
	"math/rand/v2"
	"sync"

	"github.com/kagami-mcp/kagami/protocol/engine/internal/feed"
)

// sessionless is an exchange without a session and the connection made for it, allocated together.
type sessionless struct {
	exchange
	alone conn
}

func (e *Engine) newSessionless() *sessionless {
	l := new(sessionless)
	l.alone.e, l.alone.single = e, true
	l.conn = &l.alone
	return l
}

// sessionlessSet is the list of the running sessionless exchanges. Changed, Updated and Shutdown
// iterate over it. Every POST of a stateless client is such an exchange, so the list has parts with a
// lock each, to avoid contention. The conns are the elements of the linked list, which needs no
// allocation.
type sessionlessSet struct{ parts [16]part }

// A conn is linked from add to remove, and place tells remove which part has it. No other lock is
// taken under mu.
type part struct {
	mu    sync.Mutex // guards first, and prev and next of the elements
	first *conn
	_     [48]byte // padding: one cache line per part
}

// place is the position of a sessionless exchange in the list.
type place struct {
	in         *part // nil: not in the list
	prev, next *conn
}

// add links c into one of the parts.
func (l *sessionlessSet) add(c *conn) {
	p := &l.parts[rand.IntN(len(l.parts))] //nolint:gosec // for even load, not for security
	p.mu.Lock()
	defer p.mu.Unlock()
	c.place = place{in: p, next: p.first}
	if p.first != nil {
		p.first.place.prev = c
	}
	p.first = c
}

// remove reverses add. c.place.in is read without the lock, because only the exchange that has
// called add calls remove.
func (l *sessionlessSet) remove(c *conn) {
	p := c.place.in
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.place.prev != nil {
		c.place.prev.place.next = c.place.next
	} else {
		p.first = c.place.next
	}
	if c.place.next != nil {
		c.place.next.place.prev = c.place.prev
	}
	c.place = place{}
}

// appendTo appends the connections of all exchanges to all.
//
// An exchange may end after that. Its conn remains valid memory, and its feeds ignore further
// changes.
func (l *sessionlessSet) appendTo(all []*conn) []*conn {
	for i := range l.parts {
		p := &l.parts[i]
		p.mu.Lock()
		for c := p.first; c != nil; c = c.place.next {
			all = append(all, c)
		}
		p.mu.Unlock()
	}
	return all
}

// enter counts an exchange. It returns false if the engine has been shut. A sessionless exchange is
// added to the list before it is counted, so that a Shutdown which closes the counter after that
// finds it in the list.
func (e *Engine) enter(c *conn) bool {
	if c.single {
		e.sessionless.add(c)
	}
	if e.inside.Enter() {
		return true
	}
	if c.single {
		e.sessionless.remove(c)
	}
	return false
}

// leave reverses enter.
func (e *Engine) leave(c *conn) {
	if c.single {
		e.sessionless.remove(c)
	}
	e.inside.Leave()
}

// connections returns the conns of all connections and of all sessionless exchanges. Ones that
// begin meanwhile may be missing.
func (e *Engine) connections() []*conn {
	var all []*conn
	for _, c := range e.links.Range {
		if c, ok := c.(*conn); ok {
			all = append(all, c)
		}
	}
	return e.sessionless.appendTo(all)
}

// eachFeed calls do for the feeds of all connections. It holds no lock during do, so that do may
// take the lock of the feed.
func (e *Engine) eachFeed(do func(*feed.Feed)) {
	var feeds []*feed.Feed
	for _, c := range e.connections() {
		feeds = c.appendFeeds(feeds[:0])
		for _, f := range feeds {
			do(f)
		}
	}
}
