package streamable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	port "github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/cluster"
)

// Purposes of digests of a session's id; see [cluster.Digest].
const (
	forRecord = "streamable session"
	forEvents = "streamable events"
)

// head is the carrier's part of a record. The host's state follows it.
type head struct {
	form
	Home   string `json:"home"` // the node that writes the standalone stream
	Opener string `json:"opener,omitempty"`
	Polls  bool   `json:"polls,omitempty"`
}

// form has the format of a head. Each change of a record writes the head back, and drops members
// that this version of the program does not know. If a version adds a member that must not be
// dropped, or changes a member, it must raise V. Older versions then leave the record unchanged.
type form struct {
	V int `json:"v,omitempty"` // 0: the members of head
}

// readRecord returns the parts of a record. If a newer version of the program has written it, the error
// is transport.ErrUnavailable, because another node may be able to read it.
func readRecord(data []byte) (head, []byte, error) {
	h, state, err := cluster.Split[head](data)
	if err != nil {
		h.form, _, _ = cluster.Split[form](data) // only V, because the other members may have changed
	}
	if h.V > 0 {
		return h, nil, fmt.Errorf("%w: a newer version of the program has written the record", transport.ErrUnavailable)
	}
	return h, state, err
}

// record is a session's entry in the shared store, as this node last read it. The host's first
// Update creates it in the store.
//
// changing makes updates of this node follow each other, and is the only lock that is held during
// I/O on the store. mu is never held during I/O. Readers of other goroutines see the last state
// that set has stored. Versions only grow.
type record struct {
	s   *session
	key string

	changing sync.Mutex // serializes update, and is held during I/O; taken before mu

	mu      sync.Mutex // guards the fields below
	head    head
	state   []byte // state of the host; never written to
	version uint64 // version of the record in the store; 0 if it is not there yet
	settled bool   // this node knows the sequence number of the standalone stream; see catchUp
}

var _ transport.SessionState = (*record)(nil)

// newRecord returns the record of a session that this node opens. It is not stored yet.
func newRecord(s *session) *record {
	return &record{
		s: s, key: cluster.Digest(forRecord, s.id), settled: true,
		head: head{Home: s.e.node.ID, Opener: s.opener},
	}
}

// Load implements transport.SessionState.
func (r *record) Load() ([]byte, uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Clone(r.state), r.version
}

// Update implements transport.SessionState.
func (r *record) Update(ctx context.Context, change func([]byte) []byte) error {
	return r.update(ctx, func(_ *head, state []byte) []byte { return change(state) })
}

// made reports whether the record is known to be in the store. It returns false for a nil record.
func (r *record) made() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.version > 0
}

// attempts is the number of attempts of an update if other nodes write at the same time.
const attempts = 32

// update stores the result of change, which gets the newest record.
//
// change may be called several times. It must not call update or Update, because changing is held.
func (r *record) update(ctx context.Context, change func(h *head, state []byte) []byte) error {
	r.changing.Lock()
	defer r.changing.Unlock()
	err := r.write(ctx, change)
	for n := 1; n < attempts && faster(err); n++ {
		if err = r.read(ctx); err == nil {
			err = r.write(ctx, change)
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, port.ErrNotFound):
		return fmt.Errorf("keeping a session: %w: %w", transport.ErrNoSession, err)
	}
	return fmt.Errorf("keeping a session: %w", err)
}

// faster reports whether err means that a newer record was written, by another node or by an
// earlier attempt whose response was lost: ErrExists comes from a Create that the store's client
// has repeated.
func faster(err error) bool {
	return errors.Is(err, port.ErrConflict) || errors.Is(err, port.ErrExists)
}

// write stores the result of change, which gets the record as this node knows it.
//
// The caller holds changing, but not mu.
func (r *record) write(ctx context.Context, change func(h *head, state []byte) []byte) error {
	r.mu.Lock()
	h, state, version := r.head, bytes.Clone(r.state), r.version
	r.mu.Unlock()
	state = change(&h, state)
	data, err := cluster.Join(h, state)
	if err != nil {
		return err
	}
	kept := port.Record{ID: r.key, Principal: r.s.principal, Version: version, Expires: r.s.expires(), Data: data}
	store := r.s.e.node.Sessions
	if version == 0 {
		err = store.Create(ctx, kept)
	} else {
		err = store.Update(ctx, kept)
	}
	if err == nil {
		r.set(h, data[len(data)-len(state):], version+1)
	}
	return err
}

// read reads the record from the store.
func (r *record) read(ctx context.Context) error {
	kept, err := r.s.e.node.Sessions.Get(ctx, r.key)
	if err != nil {
		return err
	}
	return r.see(kept)
}

// see decodes kept and stores it in r, unless r has a newer version.
func (r *record) see(kept port.Record) error {
	h, state, err := readRecord(kept.Data)
	if err != nil {
		return err
	}
	r.set(h, state, kept.Version)
	return nil
}

// set stores a newer version in r. It ignores an older one, which may have been read before this
// node wrote a newer one.
//
// state belongs to the record from then on, and is never changed.
func (r *record) set(h head, state []byte, version uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if version <= r.version {
		return
	}
	r.head, r.state, r.version = h, state, version
	if h.Home != r.s.e.node.ID {
		r.settled = false
	}
}

// expires returns the time when the store may drop the record if it is not touched. That is a
// quarter of SessionIdle after the session becomes due, because touch may come that late.
//
// It takes session.mu.
func (s *session) expires() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.used {
		return time.Now().Add(min(s.e.cfg.SessionIdle, handshakeTime))
	}
	return time.Now().Add(s.e.cfg.SessionIdle + s.e.refresh())
}

// refresh is the shortest time between two touches of the record of a session in use.
func (e *Endpoint) refresh() time.Duration { return max(e.cfg.SessionIdle/4, time.Millisecond) }

// touch extends the life of the record. It returns false if the record is gone. If the store is
// unavailable, the next request tries again.
func (r *record) touch(ctx context.Context) bool {
	err := r.s.e.node.Sessions.Touch(ctx, r.key, r.s.expires())
	return !errors.Is(err, port.ErrNotFound)
}
