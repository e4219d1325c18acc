package streamable

import (
	"errors"
	"net/http"

	"github.com/kagami-mcp/kagami/protocol/eventlog"
)

// get opens the stream of a session for what belongs to no exchange, or goes on
// with a stream that broke (2025-03-26 to 2025-11-25 basic/transports).
func (v *Visit) get() *Reply {
	s, refused := v.demanded()
	if refused != nil {
		return refused
	}
	p := &posting{v: v, session: s}
	defer p.release()
	ids := v.r.Fields.Values(headerLastEvent)
	if len(ids) == 0 && v.e.Stops() {
		return shuttingDown()
	}
	if len(ids) == 0 {
		return v.admit(s.standalone, position{fresh: true}, p)
	}
	st, after, ok := s.resumable(ids)
	if !ok {
		return nothingToResume()
	}
	return v.admit(st, position{resumed: true, after: after}, p)
}

// nothingToResume is the same for garbage, for ids of others and for what is not
// kept any more. It is not 404, which would end the client's session.
func nothingToResume() *Reply {
	return refuse(http.StatusBadRequest, "there is nothing to resume after this "+headerLastEvent)
}

// resumable is the stream and the place in it that an event id names.
func (s *session) resumable(ids []string) (st *stream, after uint64, ok bool) {
	if len(ids) != 1 || s.e.events == nil {
		return nil, 0, false
	}
	number, after, ok := parseEventID(ids[0], s.prefix())
	if !ok {
		return nil, 0, false
	}
	st = s.stream(number)
	if st == nil || !st.holds(after) {
		return nil, 0, false
	}
	return st, after, true
}

// holds says whether everything after that event is still there.
func (st *stream) holds(after uint64) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if after > st.seq {
		return false
	}
	if after == st.seq {
		return true
	}
	_, err := st.log.After(st.session.ctx, st.key(), after)
	return !errors.Is(err, eventlog.ErrExpired)
}
