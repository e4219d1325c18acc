package engine

import (
	"bytes"
	"crypto/rand"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/transport"
)

// conn is what the engine remembers of one connection: the session that
// initialize opened, if any, and what is in flight in both directions.
//
// Locks are taken in the order conn.mu, feed.mu, Engine.mu.
type conn struct {
	e      *Engine
	link   *transport.Connection // nil: the carrier told nothing
	single bool                  // of one exchange, which no other shares

	mu      sync.Mutex // guards the fields below
	session *session
	calls   map[string]*exchange // requests in flight, by key of their id
	listens map[string]*feed     // those of calls that are listen streams
	asks    map[string]*ask      // our requests, by key of their id
	lastAsk int64
	early   map[string]protocol.TaskStatus // news of tasks of the client that nobody follows yet
	version uint64                         // of what is kept of the session, as it was seen last
	gone    bool

	left      int // answers that were left for other nodes since leftSince
	leftSince time.Time
}

// session is a handshake session. Immutable but for what its own lock or
// atomics guard.
type session struct {
	id           string
	init         []byte // the parameters of initialize; nil where no other node may need them
	dialect      *dialect.Dialect
	client       protocol.Implementation
	capabilities protocol.ClientCapabilities
	level        atomic.Pointer[protocol.Level]
	feed         *feed
	opened       chan struct{} // closed when initialize has been answered
	ready        chan struct{} // closed by notifications/initialized
	readied      sync.Once
	altering     sync.Mutex // serializes changes of what is kept nowhere else
}

func (s *session) logLevel() protocol.Level {
	if l := s.level.Load(); l != nil {
		return *l
	}
	return ""
}

// connection finds or makes the state of a connection; it is dropped when the
// connection is gone.
func (e *Engine) connection(link *transport.Connection) *conn {
	c := e.connected(link)
	c.sync()
	return c
}

func (e *Engine) connected(link *transport.Connection) *conn {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, ok := e.links[link]
	if !ok {
		c = &conn{e: e, link: link}
		e.links[link] = c
		e.conns[c] = struct{}{}
		if link != nil {
			link.OnClose(func() { e.drop(link) })
		}
	}
	return c
}

func (e *Engine) drop(link *transport.Connection) {
	e.mu.Lock()
	c := e.links[link]
	delete(e.links, link)
	delete(e.conns, c)
	e.mu.Unlock()
	if c != nil {
		e.unregister(c)
		c.close()
	}
}

// close ends what waits for the peer: our requests, and streams that would never
// end otherwise. Calls in flight end by their own context.
func (c *conn) close() {
	c.mu.Lock()
	c.gone = true
	asks := c.asks
	c.asks = nil
	c.mu.Unlock()
	for _, a := range asks {
		a.fail(errGone)
	}
	for _, f := range c.feeds() {
		f.stop()
	}
}

// open makes the session of an initialize, whose parameters came as raw; false if there
// is one already.
func (c *conn) open(p *protocol.InitializeParams, raw []byte) (*session, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != nil {
		return nil, false
	}
	c.session = c.e.newSession(rand.Text(), p, raw)
	c.e.register(c)
	return c.session, true
}

func (e *Engine) newSession(id string, p *protocol.InitializeParams, raw []byte) *session {
	d := dialect.Handshake(p.Version)
	s := &session{
		id: id, dialect: d, client: p.Client, capabilities: p.Capabilities,
		feed: newFeed(e, d), opened: make(chan struct{}), ready: make(chan struct{}),
	}
	if e.shares() {
		s.init, s.feed.session = bytes.Clone(raw), id
	}
	return s
}

func (c *conn) current() *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// file puts a request in flight. The id must be free and the connection not full.
func (c *conn) file(x *exchange) *protocol.Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := x.id.Key()
	if _, taken := c.calls[key]; taken {
		return protocol.Faultf(protocol.FaultInvalidRequest, "a request with this id is in flight")
	}
	if len(c.calls) >= c.e.cfg.MaxInFlight {
		return protocol.Faultf(protocol.FaultInternal, "too many requests in flight: at most %d", c.e.cfg.MaxInFlight)
	}
	if c.calls == nil {
		c.calls = make(map[string]*exchange, 1)
	}
	c.calls[key] = x
	return nil
}

// unfile frees the id, unless it has been freed before and is another's by now.
func (c *conn) unfile(x *exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if key := x.id.Key(); c.calls[key] == x {
		delete(c.calls, key)
		delete(c.listens, key)
	}
}

func (c *conn) call(key string) *exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[key]
}

func (c *conn) listen(x *exchange, f *feed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listens == nil {
		c.listens = make(map[string]*feed, 1)
	}
	c.listens[x.id.Key()] = f
	if c.gone {
		f.stop()
	}
}

// feeds are the ways by which changes reach this client.
func (c *conn) feeds() []*feed {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*feed, 0, len(c.listens)+1)
	if c.session != nil {
		all = append(all, c.session.feed)
	}
	for _, f := range c.listens {
		all = append(all, f)
	}
	return all
}

func (c *conn) cancelCalls(cause error) {
	c.mu.Lock()
	calls := make([]*exchange, 0, len(c.calls))
	for _, x := range c.calls {
		calls = append(calls, x)
	}
	c.mu.Unlock()
	for _, x := range calls {
		x.stop(cause)
	}
}

func (c *conn) endListens() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.listens {
		f.stop()
	}
}

// covers says whether a subscription to watched wants updates of uri: the
// resource itself or one below it (2025-11-25 server/resources: "may be a
// sub-resource of the one that the client subscribed to").
func covers(watched, uri string) bool {
	rest, ok := strings.CutPrefix(uri, watched)
	return ok && (rest == "" || strings.HasSuffix(watched, "/") || rest[0] == '/' || rest[0] == '#' || rest[0] == '?')
}
