package streamable

import (
	"context"
	"errors"

	port "github.com/kagami-mcp/kagami/protocol/session"
)

// The standalone stream of a session has the same name on all nodes, but only one node writes it:
// the writer. At first the writer is the node that opened the session. Later it is the node
// where the client has last opened the stream. The hosts of all nodes send every change. The writer
// delivers it, and the other nodes drop it.

// writerNode returns the node that writes the standalone stream, as this node last read it.
func (r *record) writerNode() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.head.Home
}

// writtenElsewhere reports whether another node writes the standalone stream. If this node was the
// writer, it reads the record; otherwise only claimWriter makes it the writer. While the store is
// unavailable it relies on what it read last.
//
// It is called with stream.mu, once for each message of a standalone stream.
func (r *record) writtenElsewhere(ctx context.Context) bool {
	if !r.made() {
		return false
	}
	if r.writerNode() != r.s.e.node.ID {
		return true
	}
	if errors.Is(r.read(ctx), port.ErrNotFound) {
		return true // the session has ended
	}
	return r.writerNode() != r.s.e.node.ID
}

// becomeWriter makes this node the writer of the session, if the session is shared. If that fails,
// it returns the refusal.
func (s *session) becomeWriter(ctx context.Context) *Reply {
	if !s.record.made() {
		return nil
	}
	err := s.claimWriter(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, port.ErrNotFound):
		return noSession()
	}
	return unavailable()
}

// claimWriter makes this node the writer. After the first Adopt, the host receives what other nodes
// change in the session. The second Adopt shows the host what they changed before that. If another
// node, or none, was the writer, updates may be missing: a node that was not the writer has not sent
// them, and the writer may have ended.
//
// It must be called without stream.mu. If it fails in the middle, this node may already be the
// writer in the record; the client tries again, here or elsewhere.
func (s *session) claimWriter(ctx context.Context) error {
	adopt, r := s.e.offered.Adopt, s.record
	if err := adopt(s.link, false); err != nil {
		return err
	}
	moved := r.writerNode() != s.e.node.ID
	if err := r.nameWriter(ctx); err != nil {
		return err
	}
	if err := s.standalone().catchUp(ctx); err != nil { // before the updates, which would count as delivered
		return err
	}
	return adopt(s.link, moved)
}

// nameWriter writes this node as the writer into the record, and reads the newest record.
func (r *record) nameWriter(ctx context.Context) error {
	here := r.s.e.node.ID
	if r.writerNode() == here {
		return r.read(ctx)
	}
	return r.update(ctx, func(h *head, state []byte) []byte {
		h.Home = here
		return state
	})
}

// catchUp finds the sequence number of a standalone stream that other nodes have written. It
// appends an empty event, which clients do not see. Earlier events are replayed only to a client
// that names one (Last-Event-ID).
//
// It holds stream.mu while it appends, so that no message gets an older number. record.mu is taken
// inside, for a moment.
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
