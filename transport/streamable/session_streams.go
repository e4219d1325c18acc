package streamable

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/transport/internal/nodes"
)

// numbers is s.numbered, made when it is needed. Under s.mu.
func (s *session) numbers() *numbered {
	if s.numbered == nil {
		s.numbered = new(numbered)
	}
	return s.numbered
}

// number is a new name for a stream, for event ids and for the log. Nodes that share a log
// take random numbers, because counting they would come to the same ones.
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

// markAt is where in a number the mark of the node begins that writes the stream.
const markAt = 37

// numberOf is a random one of 53 bits; 0 is the standalone stream.
func numberOf(mark uint16) uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return uint64(mark)<<markAt | binary.LittleEndian.Uint64(b[:])>>(64-markAt)
}

// prefix begins the ids of the session's events, on every node. Nobody can guess it,
// so that ids of another session mean nothing here.
func (s *session) prefix() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.numbers()
	switch {
	case n.tag != "":
	case s.record != nil:
		n.tag = nodes.Digest(forEvents, s.id)[:12]
	default:
		n.tag = strings.ToLower(rand.Text()[:12])
	}
	return n.tag
}

// remember makes a stream resumable.
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

// retire is told of a stream that has ended. It stays resumable until more than kept others
// have ended after it.
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

// stream is that of this node with the number; nil: there is none.
func (s *session) stream(number uint64) *stream {
	if number == 0 {
		return s.standalone()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.numbers().streams[number]
}

// negotiatedPolls says whether clients of the session's revision may poll.
func (s *session) negotiatedPolls() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.polls
}

// name gives a resumable stream its number. It is called with the first event: an answer that
// is the whole response needs none.
func (st *stream) name() {
	if st.numbered || st.log == nil || st.standalone {
		return
	}
	st.numbered = true
	st.number = st.session.number()
	st.session.remember(st)
}

// key is the stream's name in the log: the session's id makes it unguessable. A log
// that is shared does not get to see the id.
func (st *stream) key() string {
	id := st.session.id
	if r := st.session.record; r != nil {
		id = r.key
	}
	return id + "." + strconv.FormatUint(st.number, 10)
}

// eventID is the id of an event; nil where nothing is resumable.
func (st *stream) eventID(seq uint64) []byte {
	if st.log == nil {
		return nil
	}
	return appendEventID(make([]byte, 0, 48), st.session.prefix(), st.number, seq)
}

// primingID is where an event of nothing lets the client come back. That of a session's own
// stream is counted: it has one for each connection, and an id is no other event's.
func (st *stream) primingID(after uint64) []byte {
	id := st.eventID(after)
	if st.standalone {
		id = strconv.AppendUint(append(id, '.'), st.session.primes(), 10)
	}
	return id
}

// primes counts the priming events of the session's own stream.
func (s *session) primes() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.numbers()
	n.primed++
	return n.primed
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

// begin makes the stream known to the log, by an event of nothing, before a client that
// is primed may ask another node for it.
func (st *stream) begin() {
	if st.numbered && st.seq == 0 && st.session.record.made() {
		// Without it only this node resumes the stream before it has an event.
		_, _ = st.log.Append(st.session.ctx, st.key(), nil)
	}
}

// markTime is how long the log may take for the mark of an end.
const markTime = 5 * time.Second

// mark tells those who follow the stream on other nodes that nothing more comes: an
// event of nothing.
func (st *stream) mark() {
	if !st.session.record.made() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(st.session.ctx), markTime)
	defer cancel()
	_, _ = st.log.Append(ctx, st.key(), nil) // without it they give up after a while
}

// end is finish, and forget unless what was sent stays for other nodes.
func (st *stream) end(stays bool) {
	st.finish()
	if !stays {
		st.forget()
	}
}

// forget drops what the log holds.
func (st *stream) forget() {
	if st.log != nil {
		_ = st.log.Drop(context.WithoutCancel(st.session.ctx), st.key())
	}
}
