package stdio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

// NewConn returns a client's connection over any pair of streams. The only option that applies is
// [MaxFrame]. Close calls closeStreams once; closeStreams must make a Read of r that is in progress
// return. If it is nil, Close closes w and r if they have Close; both may be one stream. If a stream
// is nil, Read or Write returns an error.
//
// Read does not lose a frame: if one arrives while the context of Read ends, the next Read returns
// it. Read skips a frame that is too long, and returns [ErrFrameTooLong]; the connection goes on.
// Write returns when its context ends, but the frame may already be partly written. It is then
// written to its end before the next frame, unless Close ends the connection.
func NewConn(r io.Reader, w io.Writer, closeStreams func() error, opts ...Option) transport.Conn {
	c := newConfig(opts)
	if closeStreams == nil {
		closeStreams = func() error {
			failed, again := closeIfCloser(w), closeIfCloser(r)
			if errors.Is(streamEnd(again), io.EOF) { // w and r are one stream
				return failed
			}
			return errors.Join(failed, again)
		}
	}
	if r == nil {
		r = faulty{errNilStream}
	}
	if w == nil {
		w = faulty{errNilStream}
	}
	if c.fault != nil {
		r, w = faulty{c.fault}, faulty{c.fault}
	}
	return &conn{
		in:           newFrameReader(r, c.maxFrame),
		out:          newFrameWriter(w),
		frames:       make(chan incoming),
		pumped:       make(chan struct{}),
		closed:       make(chan struct{}),
		closeStreams: closeStreams,
	}
}

var errNilStream = errors.New("stdio: the stream is nil")

// faulty is a stream whose Read and Write return an error. It replaces a nil stream, or both
// streams if an option is wrong.
type faulty struct{ error }

func (f faulty) Read([]byte) (int, error)  { return 0, f.error }
func (f faulty) Write([]byte) (int, error) { return 0, f.error }

func closeIfCloser(stream any) error {
	if c, ok := stream.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

type incoming struct {
	frame []byte
	err   error
}

// conn is a client's connection. A goroutine (pump) reads, because a Read of a stream does not end
// with a context. The first Read starts pump, or else Close. Close waits for it.
type conn struct {
	in  *frameReader
	out *frameWriter

	start   sync.Once
	frames  chan incoming // closed by pump, after readErr was set
	readErr error         // may be read when frames is closed
	pumped  chan struct{} // closed by pump, for join; only Read may receive from frames

	stop         sync.Once
	closed       chan struct{} // closed by Close
	closeStreams func() error
	closeErr     error // set in stop
}

// Read returns the next frame. It returns io.EOF if the server has closed its output, or after
// Close, and an error when ctx ends.
func (c *conn) Read(ctx context.Context) ([]byte, error) {
	select {
	case <-c.closed:
		return nil, io.EOF
	default:
	}
	c.start.Do(func() { go c.pump() })
	select {
	case got, ok := <-c.frames:
		if !ok {
			return nil, c.readErr
		}
		return got.frame, got.err
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for a frame: %w", context.Cause(ctx))
	}
}

// pump reads to the end of the stream. After Close it drops what it reads, so that a server that
// writes before it exits does not block.
func (c *conn) pump() {
	defer close(c.pumped)
	defer close(c.frames)
	for {
		frame, err := c.in.next()
		if err != nil && !errors.Is(err, ErrFrameTooLong) {
			c.readErr = cmp.Or(readFailure(err), io.EOF)
			return
		}
		select {
		case c.frames <- incoming{frame, err}:
		case <-c.closed:
		}
	}
}

// Write sends one frame. Frames of concurrent calls do not mix. If ctx can end, a goroutine writes,
// because a Write of a stream does not end with a context. The caller then returns when ctx ends,
// even if the server does not read.
func (c *conn) Write(ctx context.Context, frame []byte) error {
	if ctx.Done() == nil {
		return c.out.Send(ctx, transport.Frame{JSON: frame})
	}
	sent := make(chan error, 1)
	frame = slices.Clone(frame) // the caller may return before it is written
	go func() {
		err := errNoReturn
		defer func() { sent <- err }()
		err = c.out.Send(ctx, transport.Frame{JSON: frame})
	}()
	select {
	case err := <-sent:
		return err
	case <-ctx.Done():
		return c.out.late(ctx)
	}
}

// Close closes the streams, and ends a Read and a Write that are in progress. Further calls return
// the error of the first call.
func (c *conn) Close() error {
	c.stop.Do(func() {
		close(c.closed)
		c.out.gone.set(errClosed)
		c.start.Do(func() { go c.pump() })
		c.closeErr = c.closeStreams()
		c.join()
	})
	return c.closeErr
}

// join waits for pump, for settle at the longest, because the caller's closeStreams may not end a
// Read.
func (c *conn) join() {
	timer := time.NewTimer(settle)
	defer timer.Stop()
	select {
	case <-c.pumped:
	case <-timer.C:
	}
}
