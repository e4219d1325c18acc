package streamable

import (
	"errors"
	"net/http"

	"github.com/kagami-mcp/kagami/protocol/eventlog"
)

// Sink is the response of a stream, as a carrier implements it. The endpoint calls it from one
// goroutine at a time, and not after the stream is over.
type Sink interface {
	// Open writes the status and the header. length is the length of the body, or -1 if it is not
	// known.
	Open(status int, header []Field, length int) error
	// Write sends a part of the body at once, whole or not at all. It must fail after a while if
	// the client does not read.
	Write(part []byte) error
}

// Ender is a Sink that can end the body with its last part, which saves a packet.
type Ender interface {
	// Last is like Write, for the last part.
	Last(part []byte) error
}

// put writes a part of an SSE stream, preceded by the header if it is the first.
//
// The caller holds stream.mu, or is pour while it runs, or follower.serve, which alone uses its
// connection.
func (a *streamConn) put(part []byte) error { return a.putPart(part, false) }

// putPart is like put; last reports that nothing follows part.
func (a *streamConn) putPart(part []byte, last bool) error {
	if !a.committed {
		a.committed = true
		header := append(a.header, eventsHeader...)
		a.header = nil
		if err := a.sink.Open(http.StatusOK, header, -1); err != nil {
			return err
		}
	}
	if a.primer != nil {
		part, a.primer = append(a.primer, part...), nil
	}
	a.wrote.Store(true)
	if end, ok := a.sink.(Ender); ok && last {
		return end.Last(part)
	}
	return a.sink.Write(part)
}

// write sends r as the whole response of the connection.
//
// The caller holds stream.mu.
func (r *Reply) write(a *streamConn) error {
	if err := a.sink.Open(r.Status, append(a.header, r.Header...), len(r.Body)); err != nil || len(r.Body) == 0 {
		return err
	}
	return a.sink.Write(r.Body)
}

// attach makes a the stream's connection, and writes the events that the client has missed. It
// returns false if nothing more is to be sent on a.
//
// It holds st.mu while it writes, so that no new event comes between the missed ones. If it returns
// false, a is closed. settle runs after st.mu was released, and wakes a sender that waits for the
// connection.
func (st *stream) attach(a *streamConn, from position) bool {
	defer st.settle()
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.answer.Status != 0 {
		_ = st.writeAnswer(a) // the client may have disconnected, which does not matter here
		return false
	}
	st.leaveOld()
	st.at, st.lost = a, false
	if !st.greet(a, from) || !st.replay(a, from) || st.ended || st.releasing {
		st.releasing = false
		st.detachLocked(a)
		return false
	}
	return true
}

// leaveOld detaches the previous connection, if its end was not noticed before the client came
// back. The caller holds st.mu, which is unlocked while leaveOld waits.
func (st *stream) leaveOld() {
	for st.at != nil || st.pours() {
		if st.at != nil {
			st.detachLocked(st.at)
		}
		st.rescue()
		_ = st.drain() // events that the goroutine did not write are in the log, or were rescued
	}
}

// greet writes the header and a first event or comment if the client is waiting for them. It
// prepares a priming event for a client that may poll.
//
// It returns false if the connection is broken. The caller holds st.mu.
func (st *stream) greet(a *streamConn, from position) bool {
	polls := st.sse && st.log != nil && st.plan.Polls
	if st.standalone {
		polls = st.log != nil && st.session.negotiatedPolls()
	}
	switch {
	case polls && !from.resumed:
		st.streaming = true
		st.name()
		st.begin()
		after := uint64(0)
		if from.fresh {
			after = st.delivered
		}
		a.primer = appendPriming(make([]byte, 0, 256), st.primingID(after), st.admitter.cfg.Retry.Milliseconds())
		if st.attached != nil { // a sender waits for this connection, and its event follows at once
			return true
		}
		return a.put(nil) == nil
	case st.greeting != nil:
		return a.put(st.greeting) == nil
	case from.fresh, from.resumed:
		return a.put([]byte(comment)) == nil
	}
	return true
}

// replay writes the events of the log that the client has not seen.
//
// It returns false if the events cannot be read or written. The caller holds st.mu, and no
// goroutine pours.
func (st *stream) replay(a *streamConn, from position) bool {
	if st.log == nil {
		return st.unwritten(a)
	}
	after := from.after
	if from.fresh {
		after = st.delivered
	}
	if after >= st.seq {
		return st.unwritten(a)
	}
	events, err := st.log.After(st.session.ctx, st.key(), after)
	if errors.Is(err, eventlog.ErrExpired) && from.fresh {
		return true // the missed events are lost; the client did not ask for them by an id
	}
	if err != nil {
		return false
	}
	f := st.flows()
	for i, event := range events {
		last := i == len(events)-1
		if !internal(event) {
			f.buf, f.seq = appendEvent(f.buf, st.eventID(event.Seq), event.Frame), event.Seq
		}
		if len(f.buf) == 0 || len(f.buf) < crowd && !last {
			continue
		}
		if st.write(a, last && st.ended && len(f.rest) == 0) != nil || a.closed.Load() {
			return false
		}
	}
	return st.unwritten(a)
}

// unwritten writes the events that the log does not have.
func (st *stream) unwritten(a *streamConn) bool {
	f := st.flow
	if f == nil || len(f.rest) == 0 {
		return true
	}
	f.buf, f.seq = append(f.buf[:0], f.rest...), st.seq
	if st.write(a, st.ended) != nil {
		return false
	}
	if !st.ended { // a client may come back once more
		f.rest = nil
	}
	return true
}

// part detaches the connection after everything pending was written. If the stream has ended
// without writing anything, part writes a response, because every request needs one.
//
// It is the last use of the sink. The caller has closed a, so no sender begins to write; part waits
// for the one that is writing.
func (st *stream) part(a *streamConn) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.flow != nil && st.flow.to == a {
		_ = st.drain() // Send returns the error
	}
	switch { // the client may have disconnected, which does not matter here
	case a.primer != nil:
		_ = a.putPart(nil, st.ended)
	case !a.committed && st.ended:
		a.committed = true
		_ = st.nothing().write(a)
	}
	st.detachLocked(a)
}

// nothing returns the response of a stream that ended without a message.
func (st *stream) nothing() *Reply {
	if st.standalone {
		return refuse(http.StatusNotFound, "no such session")
	}
	return &Reply{Status: http.StatusAccepted}
}

// writeAnswer writes the whole response and closes the connection. The caller holds st.mu.
func (st *stream) writeAnswer(a *streamConn) error {
	defer a.close()
	a.committed = true
	return st.answer.write(a)
}

// detachLocked closes a and takes it from the stream. The end of a runs elsewhere, because it needs
// st.mu, which the caller holds.
func (st *stream) detachLocked(a *streamConn) {
	a.close()
	if st.at == a {
		st.at = nil
	}
}

// beat writes a comment, so that the client and proxies see that the stream is alive.
//
// It runs in a goroutine of its own, and may wait for a sender that holds st.mu. beating keeps
// heartbeats from starting another one meanwhile.
func (a *streamConn) beat() {
	defer a.beating.Store(false)
	st := a.st
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.at != a || !st.sse || st.ended || st.pours() || a.wrote.Load() {
		return
	}
	st.streaming = true
	if a.put([]byte(comment)) != nil {
		st.detachLocked(a)
	}
}
