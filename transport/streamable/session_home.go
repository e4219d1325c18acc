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

// elsewhere reads the record to see whether another node writes the standalone stream. While
// the store is away it goes by what it has read last.
func (r *record) elsewhere(ctx context.Context) bool {
	if !r.made() {
		return false
	}
	if errors.Is(r.read(ctx), port.ErrNotFound) {
		return true // it has ended
	}
	return r.home() != r.s.e.node.ID
}

// moveIn makes this node the home of the session, if it is shared. A Reply refuses.
func (s *session) moveIn(ctx context.Context) *Reply {
	if !s.record.made() {
		return nil
	}
	err := s.settleIn(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, port.ErrNotFound):
		return noSession()
	}
	return unavailable()
}

// settleIn makes this node the home. From the first Adopt on the host hears of what other
// nodes change of the session; by the second it sees what they have changed before. So
// nothing is missed.
func (s *session) settleIn(ctx context.Context) error {
	host, r := s.e.server, s.record
	if err := host.Adopt(s.link); err != nil {
		return err
	}
	if err := r.takeHome(ctx); err != nil {
		return err
	}
	if err := host.Adopt(s.link); err != nil {
		return err
	}
	return s.standalone().catchUp(ctx)
}

// takeHome writes into the record that this node is the home, and takes over the newest one.
func (r *record) takeHome(ctx context.Context) error {
	here := r.s.e.node.ID
	if r.home() == here {
		return r.read(ctx)
	}
	return r.update(ctx, func(h *head, state []byte) []byte {
		h.Home = here
		return state
	})
}

// catchUp learns the sequence number of a standalone stream that other nodes have written, by
// appending an empty event, which no client sees. What came before it is replayed only to a
// client that names an event.
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
