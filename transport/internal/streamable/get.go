package streamable

import "net/http"

// get opens the standalone stream of a session, for messages that do not belong to an exchange, or
// resumes a stream that broke (2025-03-26 to 2025-11-25 basic/transports).
func (v *PendingRequest) get() *Reply {
	s, refused := v.demanded()
	if refused != nil {
		return refused
	}
	p := &posting{v: v, session: s}
	defer p.release()
	id, ids := v.r.Fields.Value(headerLastEvent)
	switch {
	case ids == 0 && v.e.Stops():
		return shuttingDown()
	case ids == 1:
		return v.resume(s, id, p)
	case ids > 1:
		return nothingToResume()
	}
	if refused := s.becomeWriter(v.ctx); refused != nil {
		return refused
	}
	return v.admit(&Stream{st: s.standalone(), from: position{fresh: true}}, p)
}

// resume continues the stream that an event id identifies, on whichever node the stream is written.
//
// The session is in use by p until get returns; an open stream has a use of its own.
func (v *PendingRequest) resume(s *session, id string, p *posting) *Reply {
	if v.e.events == nil {
		return nothingToResume()
	}
	number, after, ok := parseEventID(id, s.prefix())
	if !ok {
		return nothingToResume()
	}
	if number == 0 {
		if refused := s.becomeWriter(v.ctx); refused != nil {
			return refused
		}
	}
	st := s.stream(number)
	if st == nil && s.record.made() {
		return v.follow(s, number, after, p)
	}
	if st == nil || !st.holds(after) {
		return nothingToResume()
	}
	return v.admit(&Stream{st: st, from: position{resumed: true, after: after}}, p)
}

// nothingToResume returns the reply to ids that are malformed, belong to another session, or
// identify events that are no longer stored. It is not 404, which would end the client's session.
func nothingToResume() *Reply {
	return refuse(http.StatusBadRequest, "there is nothing to resume after this "+headerLastEvent)
}
