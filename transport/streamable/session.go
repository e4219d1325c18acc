package streamable

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

var (
	errSessionEnded = errors.New("streamable: the session has ended")
	errTooMany      = errors.New("streamable: too many sessions")
)

// session is a handshake session: a connection that is found by its id. It ends
// by DELETE, by idleness and with the endpoint.
type session struct {
	e         *Endpoint
	id        string
	principal string
	opener    string          // whom the limit of sessions is for
	ctx       context.Context //nolint:containedctx // the session's own life
	cancel    context.CancelCauseFunc
	link      *transport.Connection

	standalone *stream // what belongs to no exchange

	mu       sync.Mutex // guards the fields below
	polls    bool       // as negotiated
	uses     int        // requests and streams that are being served
	used     bool       // more than once: the handshake was finished
	expiry   *time.Timer
	ended    bool
	streams  map[uint64]*stream // those that may be resumed
	finished []uint64           // of streams, the oldest first
	last     uint64             // number of a stream
	tag      string             // begins the event ids
}

// newSession makes a session that nobody can find yet.
func (e *Endpoint) newSession(ctx context.Context, r *Request) *session {
	s := &session{e: e, id: rand.Text(), principal: principalKey(ctx), opener: client(ctx, r)}
	inner, cancel := context.WithCancelCause(e.life)
	s.cancel = cancel
	s.standalone = &stream{gate: e.Gate, session: s, sse: true, standalone: true, log: e.events, closing: e.Closing()}
	s.ctx = transport.Connect(inner, transport.Peer{
		Carrier: "http", RemoteAddr: r.RemoteAddr,
		Principal: transport.PrincipalFrom(ctx), Out: s.standalone,
	})
	s.link = transport.ConnectionFrom(s.ctx)
	return s
}

// keep makes the session findable.
func (e *Endpoint) keep(s *session, plan transport.Plan) {
	s.mu.Lock()
	s.polls = plan.Polls
	s.uses = 1
	s.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sessions[s.id] = s
	e.openers[s.opener]++
}

// share is the part of all sessions that one client may have: the others must find
// room, whatever one does.
const share = 4

// handshakeTime is how long a session may live that only ever sent initialize.
const handshakeTime = time.Minute

// room says whether there may be one session more for a client.
func (e *Endpoint) room(opener string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.sessions) < e.cfg.MaxSessions && e.openers[opener] < max(1, e.cfg.MaxSessions/share)
}

// forgetSession undoes keep.
func (e *Endpoint) forgetSession(s *session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sessions[s.id] != s {
		return
	}
	delete(e.sessions, s.id)
	if e.openers[s.opener]--; e.openers[s.opener] <= 0 {
		delete(e.openers, s.opener)
	}
}

// find is the session of that id, if it is this principal's. One that is found is
// in use until release.
func (e *Endpoint) find(ctx context.Context, id string) (*session, error) {
	s := e.lookup(ctx, id)
	if s == nil || !s.use() {
		return nil, transport.ErrNoSession
	}
	return s, nil
}

// owns says whether there is a session of that id, and it is this principal's.
func (e *Endpoint) owns(ctx context.Context, id string) bool { return e.lookup(ctx, id) != nil }

func (e *Endpoint) lookup(ctx context.Context, id string) *session {
	e.mu.Lock()
	s := e.sessions[id]
	e.mu.Unlock()
	if s == nil || s.principal != principalKey(ctx) {
		return nil
	}
	return s
}

// use keeps the session from expiring.
func (s *session) use() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.uses++
	s.used = true
	if s.expiry != nil {
		s.expiry.Stop()
	}
	return true
}

func (s *session) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses--
	if s.uses > 0 || s.ended {
		return
	}
	life := s.e.cfg.SessionIdle
	if !s.used {
		life = min(life, handshakeTime)
	}
	if s.expiry == nil {
		s.expiry = time.AfterFunc(life, s.expire)
		return
	}
	s.expiry.Reset(life)
}

// expire ends the session, unless a request has found it meanwhile.
func (s *session) expire() { s.e.end(s, errSessionEnded, true) }

// endSession cancels what runs in the session and forgets what was kept for it.
func (e *Endpoint) endSession(s *session, cause error) { e.end(s, cause, false) }

// end decides under the session's lock, which find takes to use it: a session that
// was found is not one that has expired.
func (e *Endpoint) end(s *session, cause error, unused bool) {
	s.mu.Lock()
	if s.ended || unused && s.uses > 0 {
		s.mu.Unlock()
		return
	}
	s.ended = true
	if s.expiry != nil {
		s.expiry.Stop()
	}
	streams := s.streams
	s.streams = nil
	s.mu.Unlock()
	e.forgetSession(s)
	s.cancel(cause)
	s.standalone.finish()
	s.standalone.forget()
	for _, st := range streams {
		st.finish()
		st.forget()
	}
}

// number names a stream, for event ids and for the log.
func (s *session) number() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	return s.last
}

// prefix begins the ids of the session's events. It is random, so that ids of
// another session mean nothing here.
func (s *session) prefix() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tag == "" {
		s.tag = strings.ToLower(rand.Text()[:12])
	}
	return s.tag
}

// remember makes a stream resumable.
func (s *session) remember(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if s.streams == nil {
		s.streams = make(map[uint64]*stream)
	}
	s.streams[st.number] = st
}

// retire lets the oldest finished streams go.
func (s *session) retire(number uint64) {
	s.mu.Lock()
	if s.streams[number] == nil {
		s.mu.Unlock()
		return
	}
	s.finished = append(s.finished, number)
	var old *stream
	if len(s.finished) > kept {
		old = s.streams[s.finished[0]]
		delete(s.streams, s.finished[0])
		s.finished = s.finished[1:]
	}
	s.mu.Unlock()
	if old != nil {
		old.forget()
	}
}

func (s *session) stream(number uint64) *stream {
	if number == 0 {
		return s.standalone
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[number]
}

// named is the session that a request names; nil and nil where it names none.
func (v *Visit) named() (*session, error) {
	ids := v.r.Fields.Values(headerSession)
	switch len(ids) {
	case 0:
		return nil, nil
	case 1:
		return v.e.find(v.ctx, ids[0])
	}
	return nil, transport.ErrNoSession
}

// demanded is the session of a GET or DELETE, in use until release.
func (v *Visit) demanded() (*session, *Reply) {
	s, err := v.named()
	switch {
	case err != nil:
		return nil, refuse(http.StatusNotFound, "no such session")
	case s == nil:
		return nil, refuse(http.StatusBadRequest, headerSession+" is missing")
	}
	return s, nil
}

// remove ends a session at the client's wish (2025-03-26 basic/transports).
func (v *Visit) remove() *Reply {
	s, refused := v.demanded()
	if refused != nil {
		return refused
	}
	v.e.endSession(s, errSessionEnded)
	return &Reply{Status: http.StatusNoContent}
}
