package streamable

import (
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/transport/internal/guarded"
)

// flow is what a stream has besides that has written events. An event is written by who
// sends it, so that it leaves at once and a failure is told; but where one comes upon the
// other, a goroutine writes what has come while it wrote, all at once: a write costs ten
// times as much as an event.
type flow struct {
	buf   []byte // events that are to be written; while nobody writes it is empty
	spare []byte // what was written last
	seq   uint64 // of the last event in buf

	wrote    time.Time // the end of the last write
	quick    int       // events in a row that came right after the write of the one before
	busy     bool      // a goroutine writes
	draining int       // who waits for its end
	failed   error     // what its last write came to
	changed  sync.Cond // of the above; its lock is the stream's
}

const (
	hurry   = 20 * time.Microsecond // less between two events is a hurry
	several = 8                     // so many in a hurry are not the last
	crowd   = 64 << 10              // bytes that wait before who sends does
	modest  = 4 << 10               // bytes of memory that a quiet stream may keep
)

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
	if f.busy {
		return nil
	}
	if f.hurried() && !st.ended {
		f.busy, f.failed = true, nil
		go st.pour(a)
		return nil
	}
	return st.write(a)
}

// pours says whether somebody writes without the lock.
func (st *stream) pours() bool { return st.flow != nil && st.flow.busy }

// hurried says whether events come upon each other.
func (f *flow) hurried() bool {
	if time.Since(f.wrote) > hurry {
		f.quick = 0
		return false
	}
	f.quick++
	return f.quick > several
}

// write writes what there is. A failure detaches the connection.
func (st *stream) write(a *attachment) error {
	f := st.flow
	err := a.put(f.buf, st.ended)
	f.wrote, f.buf = time.Now(), f.buf[:0]
	if cap(f.buf) > crowd {
		f.buf = nil
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
		f.failed = st.written(a, f.seq, st.apart(a, st.ended))
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
	err := a.put(part, last)
	f.spare = part
	return err
}

// poured lets those go on who wait. Under st.mu.
func (st *stream) poured() {
	f := st.flow
	f.busy, f.wrote = false, time.Now()
	f.buf, f.spare = f.buf[:0], nil // what is left belongs to a connection that is gone
	if cap(f.buf) > modest {
		f.buf = nil
	}
	f.changed.Broadcast()
}

// room waits while too much is to be written. Under st.mu.
func (st *stream) room() {
	f := st.flow
	for f != nil && (f.draining > 0 || f.busy && len(f.buf) >= crowd) {
		f.changed.Wait()
	}
}

// drain waits until nobody writes without the lock, and returns what that came to. Who
// sends waits meanwhile. Under st.mu.
func (st *stream) drain() error {
	f := st.flow
	if f == nil || !f.busy {
		return nil
	}
	f.draining++
	for f.busy {
		f.changed.Wait()
	}
	f.draining--
	f.changed.Broadcast()
	return f.failed
}
