package streamable

import (
	"context"
	"errors"
	"fmt"
	"time"

	port "github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/cluster"
)

// find returns the session with the id if it belongs to this principal. The caller must release it.
//
// It reads the store without a lock. Between known and use, the session may expire on this node;
// use decides that under session.mu.
func (v *PendingRequest) find(id string) (*session, error) {
	found := v.owner.session // by limited, or nil
	for range attempts {
		s, due, err := v.known(found, id)
		switch {
		case err != nil:
			return nil, err
		case !s.use(): // it has just expired on this node; the next attempt restores it, if nodes share it
			v.e.forgetSession(s)
			found = nil
			continue
		case due && !s.record.touch(v.ctx):
			s.release()
			v.e.endSession(s)
			return nil, transport.ErrNoSession
		}
		return s, nil
	}
	return nil, transport.ErrUnavailable
}

// local returns the session with the id if this node has it.
func (e *Endpoint) local(id string) *session {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sessions[id]
}

// known returns the session with the id, updated from the store, so that this request sees what
// other nodes have changed. found is the session if it was found on this node before, or nil. due
// reports whether the record must be touched.
//
// The session is not in use yet.
func (v *PendingRequest) known(found *session, id string) (s *session, due bool, err error) {
	e, principal := v.e, v.Principal()
	if s = found; s == nil {
		s = e.local(id)
	}
	switch {
	case s == nil && e.node == nil, s != nil && s.principal != principal:
		return nil, false, transport.ErrNoSession
	case s != nil && !s.record.made():
		return s, false, nil // the host has stored nothing, or only this process serves the session
	}
	kept, err := e.node.Sessions.Get(v.ctx, cluster.Digest(forRecord, id))
	switch {
	case errors.Is(err, port.ErrNotFound):
		if s != nil {
			e.endSession(s)
		}
		return nil, false, transport.ErrNoSession
	case err != nil:
		return nil, false, fmt.Errorf("%w: %w", transport.ErrUnavailable, err)
	case kept.Principal != principal:
		return nil, false, transport.ErrNoSession
	case s == nil:
		s, err = v.restore(id, kept)
	default:
		err = s.record.see(kept)
	}
	due = !kept.Expires.IsZero() && time.Until(kept.Expires) < e.cfg.SessionIdle
	return s, due, err
}

// restore makes this node serve a session that another node has opened.
func (v *PendingRequest) restore(id string, kept port.Record) (*session, error) {
	s := v.e.makeSession(v.ctx, v.r, id, "")
	s.record.settled = false
	if err := s.record.see(kept); err != nil {
		s.cancel(errSessionEnded)
		if errors.Is(err, transport.ErrUnavailable) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", transport.ErrNoSession, err)
	}
	s.opener, s.polls, s.places = s.record.head.Opener, s.record.head.Polls, v.e.placesOf(len(kept.Data))
	s.used, s.restored = true, true
	if other := v.e.adopt(s); other != s {
		s.cancel(errSessionEnded)
		if other == nil {
			v.e.full()
			return nil, fmt.Errorf("%w: %w", transport.ErrUnavailable, errTooMany)
		}
		return other, nil
	}
	return s, nil
}

// adopt lets other requests find a restored session. It returns s, or the session that a concurrent
// request has restored first, or nil if there is no room.
//
// e.mu is released while another session is ended, and then both checks are made again.
func (e *Endpoint) adopt(s *session) *session {
	e.node.Begin(e.life)
	e.mu.Lock()
	defer e.mu.Unlock()
	for {
		if other := e.sessions[s.id]; other != nil {
			return other
		}
		if e.roomFor(s.opener) {
			e.file(s)
			return s
		}
		idle := e.evictable(s.opener)
		if idle == nil {
			return nil
		}
		e.mu.Unlock()
		e.end(idle, ending{cause: errSessionEnded, unused: true, stays: true})
		e.mu.Lock()
	}
}

// evictable returns an idle session that can be restored when it is needed again, and whose end
// makes room for one more session of the client. If there is none, it returns nil. The caller holds
// e.mu.
//
// It takes the lock of each session that it looks at. The session may be used again before the
// caller ends it; end then does nothing.
func (e *Endpoint) evictable(opener string) *session {
	if e.node == nil {
		return nil
	}
	shared := e.openers[opener] >= e.share()
	for _, s := range e.sessions {
		if s.restored && (!shared || s.opener == opener) && s.idle() {
			return s
		}
	}
	return nil
}

// idle reports whether the session is not in use.
func (s *session) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.uses == 0 && !s.ended
}

// receive handles a message of another node. It must not block.
//
// The end of a session may wait for its streams, so it runs in a goroutine of the node.
func (e *Endpoint) receive(m cluster.Message) {
	if m.Kind != cluster.Ended {
		return
	}
	e.mu.Lock()
	s := e.sessionsByKey[m.Session]
	e.mu.Unlock()
	if s != nil {
		e.node.Go(func() { e.endSession(s) })
	}
}

// look is called by the node periodically, and after messages may have been lost. It extends the
// life of the records of sessions in use without requests (an open stream), and ends sessions that
// have ended on other nodes. It also shows the host what other nodes have changed.
func (e *Endpoint) look(ctx context.Context) {
	for _, s := range e.all() {
		switch {
		case !s.record.made() || s.idle():
		case !s.record.touch(ctx):
			e.endSession(s)
		case s.record.writerNode() == e.node.ID && s.record.read(ctx) == nil:
			_ = e.offered.Adopt(s.link, false) // a host that accepts no connections sends nothing, either
		}
	}
}
