package streamable

import (
	"errors"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/transport/internal/guarded"
)

// flow is what a stream has besides that has written events. An event is written by who
// sends it, so that it leaves at once and a failure is told; but where one comes upon the
// other, a goroutine writes what has come while it wrote, all at once: a write costs ten
// times as much as an event. It begins at once and ends when there is nothing left, so that
// no event waits for anything but the writes before it; that one has failed is told by the
// Send after it.
type flow struct {
	buf   []byte // events that are to be written; while nobody writes it is empty
	spare []byte // what was written last
	rest  []byte // events that a connection had not got when another one took its place
	seq   uint64 // of the last event in buf

	wrote    time.Time   // the end of the last write
	quick    int         // events in a row that came right after the write of the one before
	to       *attachment // where a goroutine writes; nil: none does
	draining int         // who waits for its end
	failed   error       // what its last write came to
	changed  sync.Cond   // of the above; its lock is the stream's
}

const (
	hurry   = 20 * time.Microsecond // less between two events is a hurry
	several = 8                     // so many in a hurry are not the last
	crowd   = 64 << 10              // bytes that wait before who sends does
	modest  = 4 << 10               // bytes of memory that a quiet stream may keep
)

var errUnwritten = errors.New("streamable: writing an event has failed")

// flows is made when it is needed. Under st.mu.
func (st *stream) flows() *flow {
	if st.flow == nil {
		st.flow = &flow{changed: sync.Cond{L: &st.mu}}
	}
	return st.flow
}

// pass writes one event, or has it written soon. Under st.mu.
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

// pours says whether somebody writes without the lock.
func (st *stream) pours() bool { return st.flow != nil && st.flow.to != nil }

// hurried says whether events come upon each other.
func (f *flow) hurried() bool {
	if time.Since(f.wrote) > hurry {
		f.quick = 0
		return false
	}
	f.quick++
	return f.quick > several
}

// write writes what there is; last says that nothing follows. A failure detaches the
// connection. Under st.mu.
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

func (st *stream) written(a *attachment, seq uint64, err error) error {
	if err != nil {
		st.detachLocked(a)
		return err
	}
	st.delivered = seq
	return nil
}

// pour writes until nothing has come meanwhile.
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

// apart writes what there is without the lock. Nothing is added after the last event.
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

// poured lets those go on who wait. What is left belongs to a connection that is gone.
// Under st.mu.
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

// room waits while too much is to be written. Under st.mu.
func (st *stream) room() {
	f := st.flow
	for f != nil && (f.draining > 0 || f.to != nil && len(f.buf) >= crowd) {
		f.changed.Wait()
	}
}

// drain waits until nobody writes without the lock, and returns what that came to. Who
// sends waits meanwhile. Under st.mu.
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

// rescue takes what is to be written from a connection that another one replaces, unless
// the log has it. Under st.mu.
func (st *stream) rescue() {
	if f := st.flow; f != nil && st.log == nil {
		f.rest, f.buf = append(f.rest, f.buf...), f.buf[:0]
	}
}
