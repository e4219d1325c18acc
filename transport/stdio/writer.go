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
	keptBuffer = 64 << 10 // the largest buffer, in bytes, that is kept between two Writes
	heldBack   = 16 << 10 // from this many bytes on frames are not held back
)

var (
	errEmptyFrame = errors.New("stdio: empty frame")
	errClosed     = fmt.Errorf("stdio: connection closed: %w", io.ErrClosedPipe)
	errNoReturn   = errors.New("stdio: Write did not return")
)

// frameWriter writes whole frames in the order of the calls of Send: one Write at a
// time, with all the frames that have come while the last one lasted. It is an Outbound.
//
// A Send that finds nobody writing writes; the others queue. When a Write ends, the first of
// the queue gets the turn, and writes the frames of all that wait. A Write in progress
// cannot be abandoned: half a frame would be the end of the connection.
type frameWriter struct {
	out  io.Writer
	gone *end // set by the first error, or when the connection is over

	mu      sync.Mutex    // guards the rest
	writing bool          // line is being written, or a ticket has been given the turn to write
	line    []byte        // while writing, the frames that are; else those that are held back
	held    bool          // frames may stay in line until flush
	queue   []*ticket     // the Sends that wait, in order; empty unless writing
	idle    chan struct{} // not nil: close waits for it, and it is closed after the Write in progress

	burst
	writes atomic.Uint64 // odd while a Write is in progress
}

// ticket is a Send that waits.
type ticket struct {
	frame []byte    // of the waiting caller, and valid while in the queue
	wake  chan bool // 1-buffered, used once: true: the frame was written; false: it is this Send's turn
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
	// 2026-07-28 basic/transports/stdio: nothing more for a cancelled request.
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
	if w.gone.is() { // which is why the context ended
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
		// select takes any case that is ready.
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

// withdraw takes back the ticket of a Send that gives up: afterwards nobody reads its frame. It returns
// true if it came too late and the frame was written.
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

// passOn gives the turn to the first of the queue, if there is one. The caller holds w.mu.
func (w *frameWriter) passOn() {
	if w.writing = len(w.queue) > 0; !w.writing {
		return
	}
	next := w.queue[0]
	w.queue = slices.Delete(w.queue, 0, 1)
	next.turn = true
	next.wake <- false
}

// writeQueue writes the frame of t, whose turn it is, and those of the tickets behind it, up
// to about keptBuffer.
func (w *frameWriter) writeQueue(t *ticket) error {
	w.mu.Lock()
	if w.gone.is() { // nothing may begin after close
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

// write writes line, which contains the frames of taken. The caller holds w.mu, and nobody
// writes; write unlocks w.mu.
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
		w.gone.set(err) // which ends all that wait
		return
	}
	for _, t := range taken {
		t.wake <- true
	}
	w.passOn()
}

// hold lets frames stay behind until flush, which must follow.
func (w *frameWriter) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = true
}

// flush ends hold and writes what is held back. It waits for its own Write only.
func (w *frameWriter) flush() {
	w.mu.Lock()
	w.held = false
	w.writeRest()
}

// writeRest writes what is held back; while somebody writes nothing is. The caller holds
// w.mu; writeRest unlocks it.
func (w *frameWriter) writeRest() {
	if w.writing || len(w.line) == 0 || w.gone.is() {
		w.mu.Unlock()
		return
	}
	_ = w.write(nil) // an error has ended the connection
}

// close ends the connection for writing: it writes what is held back, and waits for a
// Write in progress, since afterwards the stream is somebody else's; but no longer than d.
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
	w.epoch = time.Time{} // what comes now is not held back
	w.mu.Unlock()
	if w.pending.Load() {
		flushed := make(chan struct{})
		go func() {
			defer close(flushed)
			w.flushBurst()
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

// appendLine appends frame as one line. Encoders leave no raw line breaks in JSON; should there be one,
// a space replaces it, so that the peer does not see two frames.
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
	err  error         // to be read when ch is closed
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
