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

// NewConn returns a client's end over any pair of streams. The option that applies is
// [MaxFrame]. closeStreams is called once, by Close, and must make a Read of r that is in
// progress return; nil closes r and w if they can be closed. A nil stream is an error of
// Read, or of Write.
//
// Read loses no frame: one that arrives while its context ends is returned by the next
// Read. A frame that is too long is skipped and reported as [ErrFrameTooLong]; the
// connection goes on. Write returns when its context ends, but half a frame cannot be taken
// back: a frame that was begun is written before anything else, or ends with Close.
func NewConn(r io.Reader, w io.Writer, closeStreams func() error, opts ...Option) transport.Conn {
	c := newConfig(opts)
	if closeStreams == nil {
		closeStreams = func() error { return errors.Join(closeIfCloser(w), closeIfCloser(r)) }
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

// faulty is a stream that only returns an error: in place of a nil stream, or of both streams if an
// option is wrong.
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

// conn reads in a goroutine of its own, because a Read of a stream does not end
// with a context. It is started by the first Read and joined by Close.
type conn struct {
	in  *frameReader
	out *frameWriter

	start   sync.Once
	frames  chan incoming // closed by pump, when readErr is set
	readErr error         // to be read when frames is closed
	pumped  chan struct{} // closed by pump, for join, since only Read may receive from frames

	stop         sync.Once
	closed       chan struct{} // closed by Close
	closeStreams func() error
	closeErr     error // set under stop
}

// Read returns the next frame, io.EOF when the server is gone or after Close, or
// an error when ctx ends.
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

// pump is the reading goroutine: it reads to the end of the stream. After Close it drops
// what it reads: a server that says good-bye must not block because nobody listens.
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

// Write sends one frame. Frames of concurrent calls do not mix. It has a goroutine of its
// own, because a Write of a stream does not end with a context either: a server that does
// not read must not hold up a caller whose time is over.
func (c *conn) Write(ctx context.Context, frame []byte) error {
	if ctx.Done() == nil {
		return c.out.Send(ctx, transport.Frame{JSON: frame})
	}
	sent := make(chan error, 1)
	frame = slices.Clone(frame) // the caller may be gone before it is written
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

// Close closes the streams and ends a Read and a Write that are in progress.
// Calling it again returns what the first call returned.
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

// join waits for pump, but not for ever: it depends on the caller's closeStreams whether a Read in
// progress returns.
func (c *conn) join() {
	timer := time.NewTimer(settle)
	defer timer.Stop()
	select {
	case <-c.pumped:
	case <-timer.C:
	}
}
