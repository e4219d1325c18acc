package engine

import (
	"math/rand/v2"
	"slices"
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

// sessionlessSet is the set of the conns of running sessionless exchanges. Changed, Updated and
// Shutdown iterate over it. Every POST of a stateless client is such an exchange, so the set has parts
// with a lock each, to avoid contention.
type sessionlessSet struct{ parts [16]part }

// A conn is in the set from add to remove, and knows its part and its index there. No other lock is
// taken under mu.
type part struct {
	mu    sync.Mutex // guards conns, and conn.at of its members
	conns []*conn
	_     [32]byte // padding: one cache line per part
}

// add adds c to one of the parts.
func (l *sessionlessSet) add(c *conn) {
	p := &l.parts[rand.IntN(len(l.parts))] //nolint:gosec // for even load, not for security
	p.mu.Lock()
	defer p.mu.Unlock()
	c.part, c.at = p, len(p.conns)
	p.conns = append(p.conns, c)
}

// remove reverses add. part is read without the lock, because only the exchange that has called add
// calls remove.
func (c *conn) remove() {
	p := c.part
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.conns) - 1
	p.conns[c.at], p.conns[last].at = p.conns[last], c.at
	p.conns = slices.Delete(p.conns, last, last+1)
}

// appendTo appends the connections of all exchanges to all.
//
// An exchange may end after that. Its conn remains valid memory, and its feeds ignore further
// changes.
func (l *sessionlessSet) appendTo(all []*conn) []*conn {
	for i := range l.parts {
		p := &l.parts[i]
		p.mu.Lock()
		all = append(all, p.conns...)
		p.mu.Unlock()
	}
	return all
}

// enter counts an exchange. It returns false if the engine has been shut. A sessionless exchange is
// added to the set before it is counted, so that a Shutdown which closes the counter after that
// finds it in the set.
func (e *Engine) enter(c *conn) bool {
	if c.single {
		e.sessionless.add(c)
	}
	if e.inside.Enter() {
		return true
	}
	if c.single {
		c.remove()
	}
	return false
}

// leave reverses enter.
func (e *Engine) leave(c *conn) {
	if c.single {
		c.remove()
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
