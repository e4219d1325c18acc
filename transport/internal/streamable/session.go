package streamable

import (
	"context"
	"errors"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/cluster"
)

var (
	errSessionEnded = errors.New("streamable: the session has ended")
	errTooMany      = errors.New("streamable: too many sessions")
)

// session is a handshake session: a connection that requests find by its id. It ends by DELETE,
// after SessionIdle without use, and with the endpoint.
//
// If nodes share a store, this is one node's part of the session. The node drops it when it is idle
// on this node or the endpoint ends, and restores it from the record when a request needs it again.
// The session itself ends by DELETE, or when its record expires.
//
// A session is in use, idle, or ended; mu guards the state. use and release change uses. The
// release of the last use queues an idle session in young or expiring, by the time when it ends.
// The timer of the queue calls look, which ends the session or queues it again. A session that is
// used again stays in its queue, and look ignores it. end is final.
//
// mu is taken after Endpoint.mu and after the lock of a stream, and before expiryQueue.mu. It is
// not held during I/O, and no stream is used under it. life, link, record and the first fields do
// not change after the session can be found. open needs no lock.
type session struct {
	e         *Endpoint
	id        string
	principal string
	opener    string // key of the client that opened it, for the limit of sessions per client
	places    int    // number of sessions that it counts as; see Endpoint.placesOf
	life      sessionLife
	ctx       context.Context //nolint:containedctx // life with link in it
	link      *transport.Connection
	open      streamQuota // open streams, and requests that may become one; see Admitter.enter
	record    *record     // if nil, only this process serves the session

	mu       sync.Mutex    // guards the fields below
	lone     *stream       // the standalone stream; nil until it is needed
	numbered *numbered     // nil until an event with an id is sent
	until    time.Duration // time when it ends if it stays idle, on the clock of the queues
	waits    *expiryQueue  // its queue: Endpoint.young until a request after initialize has come, then Endpoint.expiring; nil until it is queued
	uses     int32         // requests and streams that are being served
	queued   int32         // index in waits plus 1, or 0 if not there; guarded by expiryQueue.mu
	at       time.Duration // time at which it is due in waits, on the clock of the queues; guarded by expiryQueue.mu
	due      bool          // it is in the queue waits, or was just taken out to call look
	used     bool          // a request after initialize has come
	polls    bool          // the negotiated revision lets clients poll; see transport.Plan
	silent   bool          // the standalone stream has ended, or ends as soon as it is made
	ended    bool
	restored bool // made from the record, and can be made again; constant once other requests can find the session
	single   bool // serves one request of a stateless endpoint, and ends with it; constant
}

// numbered is the part of a session that is needed only for events with ids.
type numbered struct {
	streams  map[uint64]*stream // streams that may be resumed
	finished []uint64           // numbers of finished streams, the oldest first
	last     uint64             // number of the last stream
	primed   uint64             // number of priming events that the standalone stream has sent
	tag      string             // prefix of the event ids; empty until it is needed
}

// singleSession returns a session for one request of a stateless endpoint. It begins with one use,
// for the request.
func (e *Endpoint) singleSession(ctx context.Context, r *Request) *session {
	s := &session{e: e, single: true, uses: 1}
	s.connect(ctx, r, transport.Peer{OneRequest: true})
	return s
}

// makeSession returns a session that no request can find, without a use. Its context must be ended
// if it is not kept.
func (e *Endpoint) makeSession(ctx context.Context, r *Request, id, opener string) *session {
	s := &session{e: e, id: id, opener: opener}
	peer := transport.Peer{Out: s}
	if e.node != nil {
		s.record = newRecord(s)
		peer.SessionState = s.record
	}
	s.connect(ctx, r, peer)
	return s
}

// connect begins the life of a session, with a connection to peer, which has sent r.
func (s *session) connect(ctx context.Context, r *Request, peer transport.Peer) {
	s.principal = principalKey(ctx)
	peer.Carrier, peer.RemoteAddr, peer.Principal = "http", r.RemoteAddr, transport.PrincipalFrom(ctx)
	s.life.Begin(s.e.life, nil)
	s.ctx = transport.Connect(&s.life, peer)
	s.link = transport.ConnectionFrom(s.ctx)
}

// cancel ends the context of the session.
//
// It may be called under s.mu: functions that wait for the end run in goroutines of their own.
func (s *session) cancel(cause error) { s.life.End(cause) }

// standalone returns the stream for messages that do not belong to an exchange.
func (s *session) standalone() *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lone == nil {
		s.lone = &stream{admitter: s.e.Admitter, session: s, sse: true, standalone: true, log: s.e.events, ended: s.silent}
	}
	return s.lone
}

// silence ends the standalone stream, even if it has not been made yet.
//
// It ends the stream after it has released s.mu, because finish takes the stream's lock and may
// wait for a write.
func (s *session) silence() {
	s.mu.Lock()
	s.silent = true
	lone := s.lone
	s.mu.Unlock()
	if lone != nil {
		lone.finish()
	}
}

// Send sends a message that does not belong to an exchange. The session is the connection's
// Peer.Out.
func (s *session) Send(ctx context.Context, frame transport.Frame) error {
	return s.standalone().Send(ctx, frame)
}

// keep lets other requests find a new session, which a frame of size bytes opened. The session begins
// with one use, for the request that opened it.
//
// No other goroutine knows the session before, so most fields are set without a lock.
func (e *Endpoint) keep(s *session, plan transport.Plan, size int) {
	s.places = e.placesOf(size)
	s.mu.Lock()
	s.polls = plan.Polls
	s.uses = 1
	s.mu.Unlock()
	if s.record != nil {
		s.record.head.Polls = plan.Polls // without r.mu: the host has not used the record yet
		e.node.Begin(e.life)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.file(s)
}

// file adds the session to the maps. The caller holds e.mu.
func (e *Endpoint) file(s *session) {
	e.sessions[s.id] = s
	e.places += s.places
	e.openers[s.opener] += s.places
	if s.record != nil {
		e.sessionsByKey[s.record.key] = s
	}
}

const (
	// sessionBytes is about how many bytes of its clients' descriptions the table of sessions keeps.
	sessionBytes = 256 << 20
	// smallSession is the size in bytes of an initialize that is one session, however large the table is.
	smallSession = 4 << 10
)

// placesOf returns the number of sessions that one session counts as. size is the number of bytes that
// it keeps of what its client has sent. If the table is small, the number of sessions alone bounds
// the memory.
func (e *Endpoint) placesOf(size int) int {
	return 1 + size/max(sessionBytes/e.cfg.MaxSessions, smallSession)
}

// share returns the number of sessions that one client may have: a quarter of MaxSessions, so that
// one client cannot use all of them.
func (e *Endpoint) share() int { return max(1, e.cfg.MaxSessions/4) }

// handshakeTime is how long a session lives if nothing comes after initialize.
const handshakeTime = time.Minute

// room reports whether a client may open one more session. To make room it ends idle sessions that
// this node can restore from their records. At MaxSessions it also ends another session; see
// displace.
//
// It ends sessions without e.mu, and then looks again. Another request may have taken the room
// meanwhile. The number of sessions may exceed the limit by the number of requests that open one at
// the same time, and by what a large session counts as.
func (e *Endpoint) room(opener string) bool {
	for {
		e.mu.Lock()
		free, share := e.roomFor(opener), e.openers[opener] < e.share()
		var idle *session
		if !free {
			idle = e.evictable(opener)
		}
		e.mu.Unlock()
		switch {
		case free:
			return true
		case idle != nil:
			e.end(idle, ending{cause: errSessionEnded, unused: true, stays: true})
		case !share || !e.displace():
			e.full()
			return false
		}
	}
}

// full logs a warning that a session was refused.
func (e *Endpoint) full() {
	e.log.Warn("a session was refused: MaxSessions is reached, or a quarter of it by one client", e.proxyHint())
}

// displace ends a session to make room for a new one. It chooses the oldest session whose client
// has sent nothing after initialize, or else the session that has been idle for longest. It returns
// false if all sessions are in use.
//
// It holds no lock while it ends the session. A session that is used in between stays.
func (e *Endpoint) displace() bool {
	for _, queue := range []*expiryQueue{&e.young, &e.expiring} {
		for s, at := queue.next(math.MaxInt64); s != nil; s, at = queue.next(math.MaxInt64) {
			if s.givesWay(queue == &e.young, at) {
				stays := s.record.made()
				if !stays {
					e.log.Warn("an idle session was ended to make room for a new one: MaxSessions is reached", "")
				}
				e.end(s, ending{cause: errSessionEnded, unused: true, stays: stays})
				return true
			}
		}
	}
	return false
}

// givesWay reports whether the session, which was just taken out of its queue, may end. Otherwise the
// session is queued again, now or by release. at is the current time or, if space is needed, the time
// of the session in the queue. A later s.until shows that the session was used since. If young is set,
// the session may end only if no request has come after initialize.
func (s *session) givesWay(young bool, at time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due = false
	switch {
	case s.ended, s.uses > 0: // release queues one that is in use
		return false
	case young && s.used, s.until > at:
		s.enqueue()
		return false
	}
	return true
}

// enqueue queues an idle session by the time when it ends. The caller holds s.mu.
//
// The session must not be in a queue.
func (s *session) enqueue() {
	s.waits = &s.e.expiring
	if !s.used {
		s.waits = &s.e.young
	}
	s.due = true
	s.waits.add(s, s.until)
}

// roomFor reports whether there is room without ending a session. The caller holds e.mu.
func (e *Endpoint) roomFor(opener string) bool {
	return e.places < e.cfg.MaxSessions && e.openers[opener] < e.share()
}

// forgetSession undoes keep or adopt: other requests do not find the session any more.
//
// It takes e.mu, and must not be called with s.mu. It does nothing if the session was replaced.
func (e *Endpoint) forgetSession(s *session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sessions[s.id] != s {
		return
	}
	delete(e.sessions, s.id)
	if s.record != nil {
		delete(e.sessionsByKey, s.record.key)
	}
	e.places -= s.places
	if e.openers[s.opener] -= s.places; e.openers[s.opener] <= 0 {
		delete(e.openers, s.opener)
	}
}

// use keeps the session from expiring until release. It returns false if the session has ended.
func (s *session) use() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.uses++
	s.used = true
	return true
}

// release undoes use. The idle time begins with the last release.
//
// For each successful use there must be one release, in any goroutine. It may end the context of a
// session for one request, but never ends a session that can be found: that is the work of look.
func (s *session) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses--
	if s.uses > 0 || s.ended {
		return
	}
	if s.single {
		s.ended = true
		s.cancel(errSessionEnded)
		return
	}
	life := s.e.cfg.SessionIdle
	if !s.used {
		life = min(life, handshakeTime)
	}
	s.until = s.e.expiring.now() + life
	if !s.due {
		s.enqueue()
	}
}

// look is called when the session was taken out of its queue. It ends a session that has been idle
// for long enough.
//
// It holds no lock when it ends the session; end checks the conditions again.
func (s *session) look() {
	if s.givesWay(false, s.e.expiring.now()) {
		s.e.end(s, ending{cause: errSessionEnded, unused: true, due: true, stays: s.record.made()})
	}
}

// endSession cancels the exchanges of the session, and removes its streams and their events.
func (e *Endpoint) endSession(s *session) { e.end(s, ending{cause: errSessionEnded}) }

// ending says how, and under which conditions, a session ends on this node.
type ending struct {
	cause  error
	unused bool // only if the session is idle
	due    bool // only if it was not used since it became due
	stays  bool // the record and the events remain for other nodes
}

// end ends the session, if how allows it. It decides under the session's lock, which use also
// takes. A session that a request has found therefore does not expire.
//
// Only the first call has an effect. It must be called without a lock. Streams are ended after s.mu
// was released, and their frames may still be written until then.
func (e *Endpoint) end(s *session, how ending) {
	s.mu.Lock()
	if s.ended || how.unused && s.uses > 0 || how.due && s.until > s.e.expiring.now() {
		s.mu.Unlock()
		return
	}
	s.ended = true
	if s.waits != nil {
		s.waits.remove(s)
	}
	streams := s.numbers().streams
	s.numbered = nil
	s.mu.Unlock()
	e.forgetSession(s)
	s.cancel(how.cause)
	s.standalone().end(how.stays)
	for _, st := range streams {
		st.end(how.stays)
	}
}

// named returns the session that the request names, in use until release. If the request names no
// session, named returns neither a session nor an error. On a stateless endpoint it then returns a
// session for this request.
func (v *PendingRequest) named() (*session, error) {
	switch {
	case v.ids == 0 && v.e.cfg.Stateless:
		return v.e.singleSession(v.ctx, v.r), nil
	case v.ids == 0:
		return nil, nil
	case v.ids == 1:
		return v.find(v.id)
	}
	return nil, transport.ErrNoSession
}

// demanded returns the session of a GET or DELETE, in use until release, or a refusal.
//
// It stands for GET and DELETE what Find is for POST.
func (v *PendingRequest) demanded() (*session, *Reply) {
	s, err := v.named()
	switch {
	case errors.Is(err, transport.ErrUnavailable):
		return nil, unavailable()
	case err != nil:
		return nil, noSession()
	case s == nil:
		return nil, refuse(http.StatusBadRequest, headerSession+" is missing")
	}
	return s, nil
}

// remove serves DELETE. It ends the session on all nodes (2025-03-26 basic/transports), also if the
// client does not wait for the response.
func (v *PendingRequest) remove() *Reply {
	v.ctx = context.WithoutCancel(v.ctx)
	s, refused := v.demanded()
	if refused != nil {
		return refused
	}
	if s.record.made() {
		if v.e.node.Sessions.Delete(v.ctx, s.record.key) != nil {
			s.release()
			return unavailable()
		}
		// Nodes that miss the message see that the record is gone.
		_ = v.e.node.Publish(v.ctx, cluster.Message{Kind: cluster.Ended, Session: s.record.key})
	}
	v.e.endSession(s)
	return &Reply{Status: http.StatusNoContent}
}
