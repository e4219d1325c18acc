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
)

const (
	keptBuffer = 64 << 10 // the largest buffer that is kept between two Writes
	heldBack   = 16 << 10 // so many bytes are not held back any longer
)

var (
	errEmptyFrame = errors.New("stdio: empty frame")
	errClosed     = fmt.Errorf("stdio: connection closed: %w", io.ErrClosedPipe)
	errNoReturn   = errors.New("stdio: Write did not return")
)

// frameWriter writes whole frames in the order of the calls of Send: one Write at a
// time, with all the frames that have come while the last one lasted. It is an Outbound.
//
// Who finds nobody writing writes; the others wait for their turn, in which one writes
// for all. A Write in progress can not be given up: half a frame would be the end of the
// connection.
type frameWriter struct {
	out  io.Writer
	gone *end // set by the first error, or when the connection is over

	mu      sync.Mutex    // guards the rest
	writing bool          // line is being written, or whose turn it is has been told so
	line    []byte        // of who writes; else what is held back
	held    bool          // frames may stay in line until flush
	queue   []*ticket     // who waits, in order; nobody while nobody writes
	idle    chan struct{} // not nil: to be closed after the Write in progress

	burst
	writes atomic.Uint64 // odd while a Write is in progress
}

// ticket is a Send that waits.
type ticket struct {
	frame []byte    // of the waiting caller, and valid while in the queue
	wake  chan bool // one word: true is that the frame was written, false that it is its turn
	turn  bool      // it was told so; guarded by mu
}

func newFrameWriter(out io.Writer) *frameWriter {
	return &frameWriter{out: out, gone: newEnd()}
}

// Send writes one frame, or holds it back until flush. It copies frame.
func (w *frameWriter) Send(ctx context.Context, frame []byte) error {
	if len(frame) == 0 {
		return errEmptyFrame
	}
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
		t := &ticket{frame: frame, wake: make(chan bool, 1)}
		w.queue = append(w.queue, t)
		w.mu.Unlock()
		return w.wait(ctx, t)
	}
	w.line = appendLine(w.line, frame)
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

// withdraw sees to it that nobody looks at the ticket's frame any more. True: it came
// too late, the frame has been written.
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

// passOn ends the turn of who wrote. w.mu is held.
func (w *frameWriter) passOn() {
	if w.writing = len(w.queue) > 0; !w.writing {
		return
	}
	next := w.queue[0]
	w.queue = slices.Delete(w.queue, 0, 1)
	next.turn = true
	next.wake <- false
}

// writeQueue writes t and all who wait behind it, up to a sensible size.
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

// write writes line, which has the frames of taken in it. w.mu is held, and nobody
// else writes; it is free afterwards.
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
		w.gone.set(err) // all who wait learn of it
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

// flush writes what is held back; nothing is, any more. It waits for nobody's Write but
// its own.
func (w *frameWriter) flush() {
	w.mu.Lock()
	w.held = false
	w.writeRest()
}

// writeRest writes what is in line, if nobody does. w.mu is held; it is free afterwards.
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

// appendLine appends frame as one line. JSON needs no raw line break, and those
// who encode leave none; a space in its place keeps the peer in step if they do.
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

// end is a switch that is thrown once, with a reason.
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
