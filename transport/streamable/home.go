package streamable

import (
	"context"
	"errors"

	port "github.com/kagami-mcp/kagami/protocol/session"
)

// The standalone stream of a session has one name on all nodes, and one node writes it:
// the home, where the client has asked for it last, at first the node that opened the
// session. The host of each node tells every change, and the home delivers it.

// home is the node that writes the standalone stream, as far as is known.
func (r *record) home() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.head.Home
}

// elsewhere looks whether another node writes the standalone stream. While the store
// is away it is the one that it was.
func (r *record) elsewhere(ctx context.Context) bool {
	if !r.made() {
		return false
	}
	if errors.Is(r.read(ctx), port.ErrNotFound) {
		return true // it has ended
	}
	return r.home() != r.s.e.node.ID
}

// moveIn makes this node the home. Nil: it is.
func (s *session) moveIn(ctx context.Context) *Reply {
	r := s.record
	if !r.made() {
		return nil
	}
	var err error
	if here := s.e.node.ID; r.home() != here {
		err = r.update(ctx, func(h *head, state []byte) []byte {
			h.Home = here
			return state
		})
	}
	if err == nil {
		err = s.standalone().catchUp(ctx)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, port.ErrNotFound):
		return noSession()
	}
	return unavailable()
}

// catchUp learns where a standalone stream is that others have written: an event of
// nothing, which no client gets to see, has the next number. What came before is
// replayed only to a client that names an event.
func (st *stream) catchUp(ctx context.Context) error {
	r := st.session.record
	st.mu.Lock()
	defer st.mu.Unlock()
	r.mu.Lock()
	settled := r.settled
	r.mu.Unlock()
	if settled || st.log == nil {
		return nil
	}
	seq, err := st.log.Append(ctx, st.key(), nil)
	if err != nil {
		return err
	}
	st.seq, st.delivered = seq, seq
	r.mu.Lock()
	r.settled = true
	r.mu.Unlock()
	return nil
}
