package streamable

import (
	"errors"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/transport/internal/hostcall"
)

// flow is the part of a stream that is needed only once it writes events. Usually the sender
// writes an event itself: the event leaves at once, and Send returns the error. But a write costs
// ten times as much as making an event, so when events come in quick succession a goroutine (pour)
// takes over. It writes in one go what has arrived during its previous write, and ends when
// nothing is left: an event waits for nothing but the writes before it. If one of its writes
// fails, the next Send returns the error.
//
// mu of the stream guards the fields, except spare, which only the goroutine uses.
type flow struct {
	buf   []byte // events to be written; empty while nobody writes
	spare []byte // memory of the last write, for reuse
	rest  []byte // events that were not written to the previous connection when another replaced it
	seq   uint64 // of the last event in buf

	wrote    time.Time   // the end of the last write
	quick    int         // consecutive events, each within hurry of the write before it
	to       *streamConn // where the goroutine writes; nil: it does not run
	draining int         // number of callers that wait in drain
	failed   error       // of the goroutine's last write; nil: it succeeded
	changed  sync.Cond   // the goroutine has made room, or has ended; its lock is the stream's
}

const (
	hurry   = 20 * time.Microsecond // events that follow each other this fast are in quick succession
	several = 8                     // after this many of them the goroutine takes over
	crowd   = 64 << 10              // when this many bytes are pending, senders block
	modest  = 4 << 10               // bytes of buffer that a quiet stream may keep
)

var errUnwritten = errors.New("streamable: writing an event has failed")

// flows returns st.flow, and makes it first if need be. The caller holds st.mu.
func (st *stream) flows() *flow {
	if st.flow == nil {
		st.flow = &flow{changed: sync.Cond{L: &st.mu}}
	}
	return st.flow
}

// pass writes one event, or leaves it to the goroutine. The caller holds st.mu.
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
func (f *flow) hurried() bool {
	if time.Since(f.wrote) > hurry {
		f.quick = 0
		return false
	}
	f.quick++
	return f.quick > several
}

// write writes buf while holding st.mu; last says that nothing follows. An error detaches the
// connection.
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

// written notes the outcome of a write up to event seq. The caller holds st.mu.
func (st *stream) written(a *streamConn, seq uint64, err error) error {
	if err != nil {
		st.detachLocked(a)
		return err
	}
	st.delivered = seq
	return nil
}

// pour is the goroutine: it writes until nothing is pending.
func (st *stream) pour(a *streamConn) {
	defer hostcall.Recover()
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

// apart is write with st.mu unlocked during the write, so that new events can be added to buf; last
// says that none will be. The caller holds st.mu.
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

// poured ends the goroutine's work and wakes those that wait for it. What is left in buf was for a
// connection that is gone. The caller holds st.mu.
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

// room waits while too much is pending or others wait in drain. The caller holds st.mu, which is
// unlocked during the wait.
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

// rescue keeps the events that were not written to a connection which is being replaced, unless
// the log has them. The caller holds st.mu.
func (st *stream) rescue() {
	if f := st.flow; f != nil && st.log == nil {
		f.rest, f.buf = append(f.rest, f.buf...), f.buf[:0]
	}
}
