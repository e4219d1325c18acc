package streamable

import (
	"errors"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/transport/internal/guarded"
)

// flow is what a stream needs as soon as it writes events. Usually the sender writes an event
// itself, so that it leaves at once and Send returns the failure. But a write costs ten times
// as much as making an event. So where events come in quick succession a goroutine (pour)
// takes over: it writes at once what has come while it was writing. It ends when nothing is
// left, so that no event waits for anything but the writes before it. If one of its writes
// fails, the next Send returns the error.
type flow struct {
	buf   []byte // events to be written; empty while nobody writes
	spare []byte // memory of the last write, to be used again
	rest  []byte // events that the connection before had not written when another took its place
	seq   uint64 // of the last event in buf

	wrote    time.Time   // the end of the last write
	quick    int         // events in a row that came right after the write of the one before
	to       *attachment // where the goroutine writes; nil: it does not run
	draining int         // how many wait in drain
	failed   error       // of the goroutine's last write; nil: it succeeded
	changed  sync.Cond   // the goroutine has made room, or has ended; its lock is the stream's
}

const (
	hurry   = 20 * time.Microsecond // events that follow each other within this are in quick succession
	several = 8                     // after so many of those the goroutine takes over
	crowd   = 64 << 10              // when so many bytes wait, senders wait, too
	modest  = 4 << 10               // the memory that a quiet stream may keep, in bytes
)

var errUnwritten = errors.New("streamable: writing an event has failed")

// flows is st.flow, made when it is needed. Under st.mu.
func (st *stream) flows() *flow {
	if st.flow == nil {
		st.flow = &flow{changed: sync.Cond{L: &st.mu}}
	}
	return st.flow
}

// pass writes one event, or leaves it to the goroutine. Under st.mu.
func (st *stream) pass(a *attachment, id []byte, seq uint64, frame []byte) error {
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

// pours says whether the goroutine runs. Under st.mu.
func (st *stream) pours() bool { return st.flow != nil && st.flow.to != nil }

// hurried says whether several events have come in quick succession.
func (f *flow) hurried() bool {
	if time.Since(f.wrote) > hurry {
		f.quick = 0
		return false
	}
	f.quick++
	return f.quick > several
}

// write writes what is in buf, while holding st.mu; last says that nothing follows. A failure
// detaches the connection.
func (st *stream) write(a *attachment, last bool) error {
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

// written notes the outcome of a write up to seq. Under st.mu.
func (st *stream) written(a *attachment, seq uint64, err error) error {
	if err != nil {
		st.detachLocked(a)
		return err
	}
	st.delivered = seq
	return nil
}

// pour is the goroutine: it writes until nothing has come meanwhile.
func (st *stream) pour(a *attachment) {
	defer guarded.Recover()
	st.mu.Lock()
	defer st.mu.Unlock()
	defer st.poured()
	f := st.flow
	for len(f.buf) > 0 && st.at == a && f.failed == nil {
		seq := f.seq // more may come
		f.failed = errUnwritten
		f.failed = st.written(a, seq, st.apart(a, st.ended))
	}
}

// apart is write without holding st.mu meanwhile: new events may come into buf, but not after
// the last one.
func (st *stream) apart(a *attachment, last bool) error {
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

// poured ends the goroutine's work and wakes those that wait for it. What is left in buf was
// for a connection that is gone. Under st.mu.
func (st *stream) poured() {
	f := st.flow
	if f.failed != nil { // or it was a panic, of which nothing else is known
		st.detachLocked(f.to)
	}
	f.to, f.wrote = nil, time.Now()
	f.buf, f.spare = f.buf[:0], nil
	if cap(f.buf) > modest {
		f.buf = nil
	}
	f.changed.Broadcast()
}

// room waits while too much is to be written, or others wait in drain. It unlocks st.mu
// meanwhile.
func (st *stream) room() {
	f := st.flow
	for f != nil && (f.draining > 0 || f.to != nil && len(f.buf) >= crowd) {
		f.changed.Wait()
	}
}

// drain waits until the goroutine has ended, and returns the error of its last write. Senders
// wait meanwhile. It unlocks st.mu while it waits.
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

// rescue keeps what was not written to a connection that another one replaces, unless the log
// has it. Under st.mu.
func (st *stream) rescue() {
	if f := st.flow; f != nil && st.log == nil {
		f.rest, f.buf = append(f.rest, f.buf...), f.buf[:0]
	}
}
