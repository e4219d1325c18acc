package engine

import (
	"crypto/rand"
	"sync"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/clientprofile"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/feed"
	"github.com/kagami-mcp/kagami/protocol/engine/internal/wait"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/transport"
)

// conn is the engine's state of one connection: the session that initialize opened, if any, and the
// requests in flight in both directions. A posted 2026-07-28 request has a conn of its own (single).
//
// The session is set and removed under mu, and each frame reads it without mu. Accept registers calls
// and listen streams. They are removed before their answer is sent, or when they are cancelled. When
// the connection ends, close sets gone. From then on, requests to the client fail and listen streams
// end at once.
//
// Locks are taken in the order job.telling, job.mu, conn.mu, the locks of
// package feed, Engine.mu.
//
// Engine.links owns the conn of a connection until drop. A posted exchange without a session owns
// its conn, whose memory is part of the exchange. It is therefore never kept beyond the exchange:
// newJob replaces it by Engine.noConn.
//
// The owner of an entry in calls, listens or asks is the exchange or the wait that has added it. It
// removes the entry itself. A goroutine that finds an exchange under mu may call end or abandon on
// it after it has released mu. abandon needs mu again, so it must not be called with mu.
type conn struct {
	e    *Engine
	link *transport.Connection // nil: the carrier does not distinguish connections
	part *part                 // of Engine.sessionless; nil: c is not in that set
	at   int                   // index in part.conns; guarded by part.mu

	session atomic.Pointer[session] // nil: no session is open; set under mu, read without it

	mu      sync.Mutex               // guards the fields below
	only    *exchange                // the first request in flight; a single one needs no map
	calls   map[jsonrpc.ID]*exchange // the other requests in flight, by canonical id; nil: none
	listens map[string]*feed.Feed    // feeds of listen streams, by the key of the request's id
	asks    map[string]*ask          // requests to the client that are not over, by the key of their id
	lastAsk int64                    // the id of the last request to the client
	version uint64                   // version of the stored state (transport.SessionState) that is applied to session
	gone    bool                     // the connection has ended: new waits fail

	single bool // constant: belongs to one sessionless exchange; placed here to use padding

	expected *earlyTaskUpdates // nil: no request to the client can become a task

	left *leftAnswers // counts the answers stored for other nodes; nil: none
}

// session is a handshake session. It is immutable except for its atomics, latches and locks.
//
// It belongs to the conn that has opened or restored it. A second session with the same id may
// exist, in the job of a task that was taken from the queue; that one is not registered, and its
// feed is never attached. level is written by setLevel and by changes of other nodes, and read by
// every log message, without a lock. altering is taken before the lock of the feed.
type session struct {
	*clientprofile.Profile
	id       string
	init     string // the parameters of initialize, for other nodes and after a restart; empty if there are none
	shared   string // the id if other nodes may serve the session; otherwise empty
	dialect  *dialect.Dialect
	level    atomic.Pointer[protocol.Level]
	feed     *feed.Feed
	opened   wait.Latch // initialize has been answered
	ready    wait.Latch // notifications/initialized has arrived
	altering sync.Mutex // serializes changes of a session without a transport.SessionState

	unopened atomic.Bool // initialize was answered with an error
}

func (s *session) logLevel() protocol.Level {
	if l := s.level.Load(); l != nil {
		return *l
	}
	return ""
}

// begin is called when the client has sent notifications/initialized, here or to another node.
//
// It may be called under conn.mu, and more than once.
func (s *session) begin() {
	s.ready.Release()
	s.feed.Start()
}

// current returns the session of the connection, or nil if none is open.
func (c *conn) current() *session { return c.session.Load() }

// dialect returns the dialect of the session, or nil if there is no session.
func (c *conn) dialect() *dialect.Dialect {
	if s := c.current(); s != nil {
		return s.dialect
	}
	return nil
}

// kept returns the store of the session's state. If the state is only in this process, kept returns
// nil.
func (c *conn) kept() transport.SessionState {
	if c.link == nil {
		return nil
	}
	return c.link.SessionState
}

// fleeting reports whether the connection belongs to one request on a stateless carrier
// (transport.Peer.OneRequest). In contrast, single marks the connection of an exchange without a
// session.
func (c *conn) fleeting() bool { return c.link != nil && c.link.OneRequest }

// connected returns the conn of link, and makes it at the first call. Concurrent first calls get
// the same conn, and only one of them registers drop.
func (e *Engine) connected(link *transport.Connection) *conn {
	known, ok := e.links.Load(link)
	if !ok {
		if known, ok = e.links.LoadOrStore(link, &conn{e: e, link: link}); !ok && link != nil {
			link.OnClose(func() { e.drop(link) })
		}
	}
	c, _ := known.(*conn)
	return c
}

// drop is called once, in a goroutine of its own, when the connection has ended. Exchanges of the
// connection may still be in flight, and a frame may even be accepted later. Because of gone,
// neither can ask the client, and a session that opens later is not registered.
func (e *Engine) drop(link *transport.Connection) {
	known, _ := e.links.LoadAndDelete(link)
	if c, ok := known.(*conn); ok {
		c.close()
		e.unregister(c) // after close: from then on, begin registers no session
	}
}

// close ends everything that waits for the client and would not end by itself: requests to the
// client, and feeds. Calls in flight end by their own contexts.
//
// It takes the requests to the client out of asks under mu, and sends the failures without mu.
// Afterwards no other goroutine can send to their channels, so each failure has room.
func (c *conn) close() {
	c.mu.Lock()
	c.gone = true
	asks := c.asks
	c.asks = nil
	c.mu.Unlock()
	for _, a := range asks {
		a.failure <- errGone // it is not in c.asks any more, so this does not block
	}
	for _, f := range c.appendFeeds(nil) {
		f.Stop()
	}
}

func (e *Engine) newSession(id string, p *protocol.InitializeParams, raw []byte) *session {
	d := dialect.Handshake(p.Version)
	s := &session{
		Profile: e.profiles.Of(p, raw),
		id:      id, dialect: d, feed: e.feeds.Session(d),
	}
	if e.shares() {
		s.shared = id
	}
	return s
}

// open makes the session of an initialize with the parameters p; raw is their JSON. If there is a
// session already, open returns false.
func (c *conn) open(p *protocol.InitializeParams, raw []byte) (*session, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current() != nil {
		return nil, false
	}
	s := c.e.newSession(rand.Text(), p, raw)
	if c.kept() != nil || c.e.shares() {
		s.init = string(raw)
	}
	c.begin(s)
	return s, true
}

// unopen reverses open, for an initialize that is answered with an error. Requests that wait for the
// session are refused, and the client may try again.
//
// It stops the feed under mu, in the order of locks. A request that has already found s goes on to
// await, which refuses it.
func (c *conn) unopen(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current() != s {
		return
	}
	s.unopened.Store(true)
	s.feed.Stop()
	c.e.unregister(c)
	c.session.Store(nil)
	if c.link != nil {
		c.link.Refuse()
	}
}

// assume makes a session for a request that comes without a handshake. The client's capabilities are
// unknown, so the server cannot ask it anything or send it log messages.
//
// Its session has no id, so it is not registered and no other node learns of it. If two frames of
// the connection assume a session at the same time, the second session is dropped.
func (c *conn) assume(version string) {
	s := c.e.newSession("", &protocol.InitializeParams{Version: dialect.Sessionless(version).String()}, nil)
	s.opened.Release()
	s.begin()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current() == nil {
		c.session.Store(s)
	}
}

// begin makes s the session of the connection. If the connection has ended, nothing else ends s any
// more: begin then stops its feed, and does not register it. The caller holds c.mu.
func (c *conn) begin(s *session) {
	c.session.Store(s)
	if c.gone {
		s.feed.Stop()
		return
	}
	c.e.register(c)
}

// register makes messages of other nodes find the session of a connection. The caller holds c.mu.
func (e *Engine) register(c *conn) {
	if !e.shares() {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sessions == nil {
		e.sessions = make(map[string]*conn)
	}
	e.sessions[c.current().id] = c
}

// unregister reverses register.
//
// The caller may hold c.mu, but need not. It removes only an entry of c: another conn may already
// serve the same session.
func (e *Engine) unregister(c *conn) {
	s := c.current()
	if s == nil || !e.shares() {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sessions[s.id] == c {
		delete(e.sessions, s.id)
	}
}

// sessionOf returns a session that is served here, or nil.
//
// The session may have ended when sessionOf returns. Its feed then drops what it gets.
func (e *Engine) sessionOf(id string) *session {
	if c := e.connOf(id); c != nil {
		return c.current()
	}
	return nil
}

// connOf returns the connection of a session that is served here, or nil.
func (e *Engine) connOf(session string) *conn {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sessions[session]
}

// register puts a request in flight. It returns a fault if the id is in use, or if MaxInFlight
// requests are already in flight.
func (c *conn) register(x *exchange) *protocol.Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.only == nil && c.calls == nil {
		c.only = x
		return nil
	}
	if c.inFlight(x.id) != nil {
		return protocol.Faultf(protocol.FaultInvalidRequest, "a request with this id is in flight")
	}
	if c.count() >= c.e.cfg.MaxInFlight {
		return protocol.Faultf(protocol.FaultInternal, "too many requests in flight: at most %d", c.e.cfg.MaxInFlight)
	}
	if c.calls == nil {
		c.calls = make(map[jsonrpc.ID]*exchange, 1)
	}
	c.calls[x.id.Canonical()] = x
	return nil
}

// unregister takes a request out of flight. Further calls have no effect, because the id may then
// belong to another request.
//
// It must not be called with conn.mu. The Serve of x and a cancellation may call it at the same
// time; the swap of x.unregistered decides which of them acts. A listen request also leaves the
// index of what feeds watch, under the lock of its feed.
func (c *conn) unregister(x *exchange) {
	if x.unregistered.Swap(true) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.only == x {
		c.only = nil
	} else if delete(c.calls, x.id.Canonical()); len(c.calls) == 0 {
		c.calls = nil // an idle session must not hold the memory
	}
	if x.feed != nil {
		delete(c.listens, x.id.Key())
		x.feed.Leave()
	}
}

// call returns the request in flight with the id, or nil. It may be answered at any time after
// that.
func (c *conn) call(id jsonrpc.ID) *exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inFlight(id)
}

// inFlight returns the request in flight with the id, or nil. The caller holds c.mu.
func (c *conn) inFlight(id jsonrpc.ID) *exchange {
	key := id.Canonical()
	if c.only != nil && c.only.id.Canonical() == key {
		return c.only
	}
	return c.calls[key]
}

// count returns the number of requests in flight. The caller holds c.mu.
func (c *conn) count() int {
	if c.only != nil {
		return len(c.calls) + 1
	}
	return len(c.calls)
}

// listen registers the feed of a listen request, which unregister removes. If the connection has
// ended, close has already stopped all feeds, so listen stops this one.
func (c *conn) listen(x *exchange, f *feed.Feed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listens == nil {
		c.listens = make(map[string]*feed.Feed, 1)
	}
	c.listens[x.id.Key()] = f
	if c.gone {
		f.Stop()
	}
}

// appendFeeds appends the feeds of the session and of all listen streams to all.
//
// The caller calls methods of the feeds without c.mu. A feed that was stopped in between ignores
// them.
func (c *conn) appendFeeds(all []*feed.Feed) []*feed.Feed {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.current(); s != nil {
		all = append(all, s.feed)
	}
	for _, f := range c.listens {
		all = append(all, f)
	}
	return all
}

// needsSession returns the fault of a request that names neither a revision nor a session.
func needsSession() *protocol.Fault {
	return protocol.Faultf(protocol.FaultInvalidParams,
		"no session: send initialize first, or name the revision in params._meta[\"io.modelcontextprotocol/protocolVersion\"]")
}

func alreadyInitialized() *protocol.Fault {
	return protocol.Faultf(protocol.FaultInvalidRequest, "the session is already initialized")
}

func noSuchSession() *protocol.Fault {
	return protocol.Faultf(protocol.FaultInvalidRequest, "no such session")
}
