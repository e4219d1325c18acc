package streamable

import (
	"errors"
	"sync"
	"time"
)

// flow is the part of a stream that is needed only once the stream writes events. Usually the
// sender writes an event itself, and Send returns the error. But a write costs ten times as much as
// making an event. When events come in quick succession, a goroutine (pour) therefore takes over.
//
// The goroutine runs while to is not nil. pass starts it, and meanwhile senders only append to buf.
// The goroutine writes at once everything that was appended during its previous write, so an event
// waits only for the writes before it. It ends when nothing is left or a write fails (poured).
// After a failed write the next Send returns the error.
//
// The mu of the stream guards the fields, except spare, which only the goroutine uses.
//
// While the goroutine runs, it owns the sink and the header state of its connection; stream.mu does
// not protect them then. It takes buf under mu, and writes it without mu. Code that needs the sink
// must call drain first, or do without the sink if pours returns true. If the write panics, failed
// is already set, and poured detaches the connection.
type flow struct {
	buf   []byte // events to be written; empty between two writes
	spare []byte // buffer of the previous write, for reuse
	rest  []byte // events that are not in the log, and were not written to a connection
	seq   uint64 // number of the last event in buf

	wrote    time.Time   // end of the last write
	quick    int         // consecutive events, each within hurry of the write before it
	to       *streamConn // the goroutine writes to this connection; nil if the goroutine does not run
	draining int         // number of callers that wait in drain
	failed   error       // error of the goroutine's last write; may be nil
	changed  sync.Cond   // the goroutine has made room, or has ended; its lock is the stream's
}

const (
	hurry   = 20 * time.Microsecond // events that follow each other within this time are in quick succession
	several = 8                     // number of such events after which the goroutine takes over
	crowd   = 64 << 10              // number of pending bytes at which senders block
	modest  = 4 << 10               // largest buffer, in bytes, that a stream keeps between two writes
)

var errUnwritten = errors.New("streamable: writing an event has failed")

// flows returns st.flow, and makes it if it is nil. The caller holds st.mu.
func (st *stream) flows() *flow {
	if st.flow == nil {
		st.flow = &flow{changed: sync.Cond{L: &st.mu}}
	}
	return st.flow
}

// pass writes one event, or leaves it to the goroutine. The caller holds st.mu.
//
// frame is copied, so it may be reused when pass returns. If the goroutine takes over, its error is
// returned by a later Send.
func (st *stream) pass(a *streamConn, id []byte, seq uint64, frame []byte) error {
	f := st.flows()
	f.buf, f.seq = appendEvent(f.buf, id, frame), seq
	if f.to != nil {
		return nil
	}
	if f.hurried() && !st.ended {
		f.to, f.failed = a, nil
		go st.pour(a)
		return nil
	}
	return st.write(a, st.ended)
}

// pours reports whether the goroutine runs. The caller holds st.mu.
func (st *stream) pours() bool { return st.flow != nil && st.flow.to != nil }

// hurried counts an event, and reports whether several have come in quick succession.
//
// The caller holds st.mu.
func (f *flow) hurried() bool {
	if time.Since(f.wrote) > hurry {
		f.quick = 0
		return false
	}
	f.quick++
	return f.quick > several
}

// write writes buf while holding st.mu; last reports that nothing follows. An error detaches the
// connection.
//
// The goroutine must not run.
func (st *stream) write(a *streamConn, last bool) error {
	f := st.flow
	part := f.buf
	f.buf = nil
	err := a.putPart(part, last)
	f.wrote = time.Now()
	if cap(part) <= modest {
		f.buf = part[:0]
	}
	return st.written(a, f.seq, err)
}

// written records the result of a write up to event seq. The caller holds st.mu.
func (st *stream) written(a *streamConn, seq uint64, err error) error {
	if err != nil {
		st.detachLocked(a)
		return err
	}
	st.delivered = seq
	return nil
}

// pour is the goroutine. It writes until nothing is pending.
//
// pass starts it, with to already set, and poured is its last step under st.mu. It counts in
// nothing: part waits for it with drain before the connection ends.
func (st *stream) pour(a *streamConn) {
	defer st.admitter.log.Recover()
	st.mu.Lock()
	defer st.mu.Unlock()
	defer st.poured()
	f := st.flow
	for len(f.buf) > 0 && st.at == a && f.failed == nil {
		seq := f.seq            // of this write; more events may arrive during it
		f.failed = errUnwritten // stays if the write panics
		f.failed = st.written(a, seq, st.apart(a, st.ended))
	}
}

// apart is like write, but unlocks st.mu during the write, so that new events can be added to buf.
// last reports that no event will follow. The caller holds st.mu.
//
// The two buffers change places: events that arrive during the write go to the other one.
func (st *stream) apart(a *streamConn, last bool) error {
	f := st.flow
	part := f.buf
	f.buf, f.spare = f.spare[:0], nil
	f.changed.Broadcast()
	st.mu.Unlock()
	defer st.mu.Lock()
	err := a.putPart(part, last)
	f.spare = part
	return err
}

// poured ends the goroutine's work and wakes waiting callers. Events that are left in buf were for
// a connection that has ended. The caller holds st.mu.
func (st *stream) poured() {
	f := st.flow
	if f.failed != nil { // also after a panic: see pour
		st.detachLocked(f.to)
	}
	f.to, f.wrote = nil, time.Now()
	f.buf, f.spare = f.buf[:0], nil
	if cap(f.buf) > modest {
		f.buf = nil
	}
	f.changed.Broadcast()
}

// room waits while too much is pending or other callers wait in drain. The caller holds st.mu,
// which is unlocked during the wait.
func (st *stream) room() {
	f := st.flow
	for f != nil && (f.draining > 0 || f.to != nil && len(f.buf) >= crowd) {
		f.changed.Wait()
	}
}

// drain waits until the goroutine has ended, and returns the error of its last write. Other senders
// are blocked until then. The caller holds st.mu, which is unlocked during the wait.
func (st *stream) drain() error {
	f := st.flow
	if f == nil || f.to == nil {
		return nil
	}
	f.draining++
	for f.to != nil {
		f.changed.Wait()
	}
	f.draining--
	f.changed.Broadcast()
	return f.failed
}

// rescue keeps the events that were not written to a connection that is being replaced, unless the
// log has them. The caller holds st.mu.
//
// attach then writes them first; see unwritten.
func (st *stream) rescue() {
	if f := st.flow; f != nil && st.log == nil {
		f.rest, f.buf = append(f.rest, f.buf...), f.buf[:0]
	}
}
