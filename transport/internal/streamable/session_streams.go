package streamable

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"

	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/transport/internal/cluster"
)

// numbers returns s.numbered, and makes it if it is nil. The caller holds s.mu.
func (s *session) numbers() *numbered {
	if s.numbered == nil {
		s.numbered = new(numbered)
	}
	return s.numbered
}

// number returns a new number for a stream, for event ids and for the log. If nodes share a log,
// the number is random, because counters of several nodes would collide.
//
// It takes session.mu, and may be called with stream.mu.
func (s *session) number() uint64 {
	if s.record != nil {
		return numberOf(s.e.node.Mark)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.numbers()
	n.last++
	return n.last
}

// markAt is the lowest bit of a stream number that belongs to the mark of the node which writes
// the stream; the bits below are random.
const markAt = 32

// numberOf returns a random stream number of 63 bits. It is not 0, which is the standalone
// stream, because a mark is not 0.
func numberOf(mark uint32) uint64 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return uint64(mark)<<markAt | uint64(binary.LittleEndian.Uint32(b[:]))
}

// prefix returns the prefix of the session's event ids, which is the same on every node. It cannot
// be guessed, so event ids of one session are not valid in another.
func (s *session) prefix() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.numbers()
	switch {
	case n.tag != "":
	case s.record != nil:
		n.tag = cluster.Digest(forEvents, s.id)[:12]
	default:
		n.tag = strings.ToLower(rand.Text()[:12])
	}
	return n.tag
}

// remember makes a stream findable by its number, for resumption.
//
// A session that has ended keeps no stream, so nothing drops its events later. It may be called
// with stream.mu.
func (s *session) remember(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	n := s.numbers()
	if n.streams == nil {
		n.streams = make(map[uint64]*stream)
	}
	n.streams[st.number] = st
}

// retire is called when a stream has ended. The stream stays resumable until more than kept other
// streams have ended after it.
//
// It is called with the lock of the stream that has ended, and takes session.mu. The events of the
// oldest stream are dropped after session.mu was released, because that is I/O.
func (s *session) retire(number uint64) {
	s.mu.Lock()
	n := s.numbers()
	if n.streams[number] == nil {
		s.mu.Unlock()
		return
	}
	n.finished = append(n.finished, number)
	var old *stream
	if len(n.finished) > kept {
		old = n.streams[n.finished[0]]
		delete(n.streams, n.finished[0])
		n.finished = n.finished[1:]
	}
	s.mu.Unlock()
	if old != nil {
		old.forget()
	}
}

// stream returns the stream with the number, if this node writes it; otherwise nil.
//
// The stream may have ended.
func (s *session) stream(number uint64) *stream {
	if number == 0 {
		return s.standalone()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.numbers().streams[number]
}

// negotiatedPolls reports whether the session's revision lets clients poll; see transport.Plan.
func (s *session) negotiatedPolls() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.polls
}

// name assigns a resumable stream its number. It is called for the first event, because an answer
// that is the whole response needs no number. The caller holds st.mu.
func (st *stream) name() {
	if st.numbered || st.log == nil || st.standalone {
		return
	}
	st.numbered = true
	st.number = st.session.number()
	st.session.remember(st)
}

// key returns the stream's name in the log, which cannot be guessed because it contains the
// session's id. A shared log gets a digest of the id, which is a secret of the client.
func (st *stream) key() string {
	id := st.session.id
	if r := st.session.record; r != nil {
		id = r.key
	}
	return id + "." + strconv.FormatUint(st.number, 10)
}

// eventID returns the id of an event, or nil if the stream is not resumable.
func (st *stream) eventID(seq uint64) []byte {
	if st.log == nil {
		return nil
	}
	return appendEventID(make([]byte, 0, 48), st.session.prefix(), st.number, seq)
}

// primingID returns the id of a priming event, an event without data after which the client can
// resume. On the standalone stream each connection gets such an event. A counter is appended there,
// because event ids must be unique.
//
// The caller holds st.mu. primes takes session.mu.
func (st *stream) primingID(after uint64) []byte {
	id := st.eventID(after)
	if st.standalone {
		id = strconv.AppendUint(append(id, '.'), st.session.primes(), 10)
	}
	return id
}

// primes counts the priming events of the standalone stream.
func (s *session) primes() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.numbers()
	n.primed++
	return n.primed
}

// holds reports whether the log still has all events after the one numbered after.
//
// It reads the log with st.mu, so that no event is appended meanwhile.
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

// end ends the stream. If stays is true, its events remain in the log for other nodes.
func (st *stream) end(stays bool) {
	st.finish()
	if !stays {
		st.forget()
	}
}

// forget removes the stream's events from the log.
//
// It takes no lock, and may be called with the lock of another stream.
func (st *stream) forget() {
	if st.log != nil {
		_ = st.log.Drop(context.WithoutCancel(st.session.ctx), st.key())
	}
}
