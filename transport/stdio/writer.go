package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

const (
	keptBuffer = 64 << 10 // size in bytes of the largest buffer that is kept between two Writes
	heldBack   = 16 << 10 // frames of this size in bytes, or larger, are not held back
)

var (
	errEmptyFrame = errors.New("stdio: empty frame")
	errClosed     = fmt.Errorf("stdio: connection closed: %w", io.ErrClosedPipe)
	errNoReturn   = errors.New("stdio: Write did not return")
)

// frameWriter writes whole frames in the order of the calls of Send. It makes one Write at a time,
// with all frames that were sent during the previous Write. It is a transport.Outbound.
//
// While writing is false, line has the frames that are held back, and a Send writes line itself.
// While writing is true, each Send appends a ticket to the queue and waits. When a Write ends, the
// first ticket of the queue gets the turn (passOn), and its Send writes the frames of the waiting
// tickets. mu is not held during a Write. A Write in progress cannot be abandoned, because half a
// frame would end the connection.
type frameWriter struct {
	out  io.Writer
	gone *end // set by the first error, or when the connection is over

	mu      sync.Mutex    // guards the fields below
	writing bool          // line is being written, or a ticket has been given the turn to write
	line    []byte        // the frames being written, if writing; otherwise the frames held back
	held    bool          // frames may stay in line until flush
	queue   []*ticket     // the waiting Sends, in order; empty unless writing
	idle    chan struct{} // closed after the Write in progress, if close waits for it; otherwise nil

	burst
	writes atomic.Uint64 // odd while a Write is in progress
}

// ticket is a waiting Send.
type ticket struct {
	frame []byte    // memory of the caller, valid while the ticket is in the queue
	wake  chan bool // 1-buffered, used once: true if the frame was written, false if this Send has the turn
	turn  bool      // false was sent on wake; guarded by mu
}

func newFrameWriter(out io.Writer) *frameWriter {
	return &frameWriter{out: out, gone: newEnd()}
}

// Send writes one frame, or holds it back until flush. It copies frame.
func (w *frameWriter) Send(ctx context.Context, frame transport.Frame) error {
	if len(frame.JSON) == 0 {
		return errEmptyFrame
	}
	ctx = frame.Bound(ctx)
	// 2026-07-28 basic/transports/stdio: nothing is sent for a request after its cancellation.
	if ctx.Err() != nil {
		return w.late(ctx)
	}
	w.mu.Lock()
	if w.gone.is() {
		w.mu.Unlock()
		return w.gone.err
	}
	if w.writing {
		t := &ticket{frame: frame.JSON, wake: make(chan bool, 1)}
		w.queue = append(w.queue, t)
		w.mu.Unlock()
		return w.wait(ctx, t)
	}
	w.line = appendLine(w.line, frame.JSON)
	if len(w.line) < heldBack && (w.held || w.joinsBurst()) {
		w.mu.Unlock()
		return nil
	}
	return w.write(nil)
}

func (w *frameWriter) late(ctx context.Context) error {
	if w.gone.is() { // then the context ended because of that
		return w.gone.err
	}
	return fmt.Errorf("sending a frame: %w", context.Cause(ctx))
}

func (w *frameWriter) wait(ctx context.Context, t *ticket) error {
	select {
	case written := <-t.wake:
		if written {
			return nil
		}
		// Several cases may have been ready.
		if ctx.Err() == nil && !w.gone.is() {
			return w.writeQueue(t)
		}
	case <-ctx.Done():
	case <-w.gone.ch:
	}
	if w.withdraw(t) {
		return nil
	}
	return w.late(ctx)
}

// withdraw removes the ticket of a Send that gives up, so that its frame is not read any more. It
// returns true if the frame was already written.
func (w *frameWriter) withdraw(t *ticket) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.turn {
		w.passOn()
		return false
	}
	w.queue = slices.DeleteFunc(w.queue, func(other *ticket) bool { return other == t })
	select {
	case written := <-t.wake:
		return written
	default:
		return false
	}
}

// passOn gives the turn to the first ticket of the queue, if there is one. The caller holds w.mu.
func (w *frameWriter) passOn() {
	if w.writing = len(w.queue) > 0; !w.writing {
		return
	}
	next := w.queue[0]
	w.queue = slices.Delete(w.queue, 0, 1)
	next.turn = true
	next.wake <- false
}

// writeQueue writes the frame of t, which has the turn, and the frames of the tickets behind it, up
// to about keptBuffer bytes.
func (w *frameWriter) writeQueue(t *ticket) error {
	w.mu.Lock()
	if w.gone.is() { // no Write may begin after close
		w.mu.Unlock()
		return w.gone.err
	}
	w.line = appendLine(w.line, t.frame)
	n := 0
	for ; n < len(w.queue) && len(w.line) < keptBuffer; n++ {
		w.line = appendLine(w.line, w.queue[n].frame)
	}
	taken := slices.Clone(w.queue[:n])
	w.queue = slices.Delete(w.queue, 0, n)
	return w.write(taken)
}

// write writes line, which contains the frames of taken. The caller holds w.mu, and no Write is in
// progress. write unlocks w.mu.
func (w *frameWriter) write(taken []*ticket) (err error) {
	w.writing = true
	w.pending.Store(false)
	line := w.line
	w.writes.Add(1)
	w.mu.Unlock()
	err = errNoReturn
	defer func() { w.written(taken, err) }()
	n, err := w.out.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if err != nil {
		err = fmt.Errorf("writing a frame: %w", err)
	}
	return err
}

func (w *frameWriter) written(taken []*ticket, err error) {
	w.writes.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noteWritten()
	if w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
	if w.line = w.line[:0]; cap(w.line) > keptBuffer {
		w.line = nil
	}
	if err != nil {
		w.gone.set(err) // wakes all waiting Sends
		return
	}
	for _, t := range taken {
		t.wake <- true
	}
	w.passOn()
}

// hold lets frames stay in line until flush, which must follow.
func (w *frameWriter) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = true
}

// flush ends hold and writes the frames that are held back. It waits only for its own Write.
func (w *frameWriter) flush() {
	w.mu.Lock()
	w.held = false
	w.writeRest()
}

// writeRest writes the frames that are held back. During a Write there are none. The caller holds
// w.mu; writeRest unlocks it.
func (w *frameWriter) writeRest() {
	if w.writing || len(w.line) == 0 || w.gone.is() {
		w.mu.Unlock()
		return
	}
	_ = w.write(nil) // an error has ended the connection
}

// close ends the connection for writing. It writes the frames that are held back, and waits at most
// d for a Write in progress, because the caller may use the stream afterwards.
func (w *frameWriter) close(d time.Duration) {
	late := make(chan struct{})
	defer time.AfterFunc(d, func() { close(late) }).Stop()
	wait := func(done <-chan struct{}) {
		select {
		case <-done:
		case <-late:
		}
	}
	w.mu.Lock()
	w.epoch, w.held = time.Time{}, false // frames that are sent from now on are not held back
	rest := !w.writing && len(w.line) > 0
	w.mu.Unlock()
	if rest {
		flushed := make(chan struct{})
		go func() {
			defer close(flushed)
			w.flush()
		}()
		wait(flushed)
	}
	w.gone.set(errClosed)
	w.mu.Lock()
	if w.writes.Load()%2 == 0 {
		w.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	w.idle = idle
	w.mu.Unlock()
	wait(idle)
}

// appendLine appends frame as one line. JSON encoders do not write raw line breaks. If there is
// one, a space replaces it, so that the peer does not see two frames.
func appendLine(dst, frame []byte) []byte {
	start := len(dst)
	dst = append(dst, frame...)
	for _, br := range []byte{'\n', '\r'} {
		rest := dst[start:]
		for i := bytes.IndexByte(rest, br); i >= 0; i = bytes.IndexByte(rest, br) {
			rest[i] = ' '
			rest = rest[i+1:]
		}
	}
	return append(dst, '\n')
}

// end is an event that happens once, with a reason.
type end struct {
	once sync.Once
	ch   chan struct{} // closed by set
	err  error         // may be read when ch is closed
}

func newEnd() *end { return &end{ch: make(chan struct{})} }

func (e *end) set(err error) {
	e.once.Do(func() {
		e.err = err
		close(e.ch)
	})
}

func (e *end) is() bool {
	select {
	case <-e.ch:
		return true
	default:
		return false
	}
}
