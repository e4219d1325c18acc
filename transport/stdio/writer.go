package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// keptBuffer is the largest buffer that is kept between two frames.
const keptBuffer = 64 << 10

var (
	errEmptyFrame = errors.New("stdio: empty frame")
	errClosed     = fmt.Errorf("stdio: connection closed: %w", io.ErrClosedPipe)
)

// frameWriter writes frames, one at a time and whole. It is an Outbound.
//
// The lock is a channel, because those who wait for it must notice that their
// context or the connection ends. A Write in progress can not be given up: half a
// frame would be the end of the connection.
type frameWriter struct {
	lock chan struct{} // holds one token while somebody writes
	out  io.Writer
	line []byte // guarded by lock
	gone *end   // set by the first error, or when the connection is over
}

func newFrameWriter(out io.Writer) *frameWriter {
	return &frameWriter{lock: make(chan struct{}, 1), out: out, gone: newEnd()}
}

// Send writes one frame. It copies frame.
func (w *frameWriter) Send(ctx context.Context, frame []byte) error {
	if len(frame) == 0 {
		return errEmptyFrame
	}
	select {
	case w.lock <- struct{}{}:
	case <-ctx.Done():
		if w.gone.is() { // which is why the context ended
			return w.gone.err
		}
		return fmt.Errorf("sending a frame: %w", context.Cause(ctx))
	case <-w.gone.ch:
		return w.gone.err
	}
	defer func() { <-w.lock }()
	return w.write(ctx, frame)
}

func (w *frameWriter) write(ctx context.Context, frame []byte) error {
	if w.gone.is() {
		return w.gone.err
	}
	// select takes any case that is ready: one whose context has ended must not
	// write because the lock happened to be free (2026-07-28
	// basic/transports/stdio: nothing more for a cancelled request).
	if ctx.Err() != nil {
		return fmt.Errorf("sending a frame: %w", context.Cause(ctx))
	}
	w.line = appendLine(w.line[:0], frame)
	n, err := w.out.Write(w.line)
	if err == nil && n < len(w.line) {
		err = io.ErrShortWrite
	}
	if cap(w.line) > keptBuffer {
		w.line = nil
	}
	if err != nil {
		err = fmt.Errorf("writing a frame: %w", err)
		w.gone.set(err)
	}
	return err
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
