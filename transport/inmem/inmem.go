// Package inmem joins two ends in one process: a client's [transport.Conn] and a
// host, without streams, sockets or timers between them.
//
//	conn := inmem.Dial(ctx, host)
//	defer conn.Close()
//
// Guarantees. Frames are accepted in the order of the calls of Write and delivered in the
// order of the calls of Send; both sides get copies. Each exchange is served in a goroutine
// of the connection; Close cancels them and waits for them, so that nothing remains of a
// closed connection. At most 1024 frames wait to be read; beyond that Send blocks until
// somebody reads or the connection ends.
//
// Everything is made for each connection, and nothing looks at a clock: a
// connection works inside a testing/synctest bubble, if it is dialled there.
//
// The package does not bound the size of frames or the number of exchanges: the
// client is the same program. Principals come with the context that is given to
// Dial (transport.WithPrincipal).
package inmem

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/hostcall"
)

// queued is how many frames wait for a reader before Send blocks.
const queued = 1024

var errClosed = fmt.Errorf("inmem: connection closed: %w", io.ErrClosedPipe)

// Dial connects to host. The connection lasts until Close or the end of ctx, whose values
// the host sees. It is also the host's Outbound for what belongs to no exchange
// (transport.Peer).
//
// Write fails when the host takes no more frames; the exchanges it has accepted go on, and
// Read returns io.EOF after them. Close may be called more than once, but not from an
// exchange of the connection, for which it would wait.
func Dial(ctx context.Context, host transport.Host) transport.Conn {
	c := &conn{host: host, queue: make(chan []byte, queued)}
	ctx, c.cancel = context.WithCancelCause(ctx)
	c.ctx = transport.Connect(ctx, transport.Peer{Carrier: "memory", Out: outbound{c}})
	return c
}

type conn struct {
	host   transport.Host
	ctx    context.Context //nolint:containedctx // of the connection and of its exchanges, which outlast single calls
	cancel context.CancelCauseFunc
	queue  chan []byte // never closed: senders may come late

	mu      sync.Mutex // one Accept at a time; guards refused
	refused error      // not nil: nothing is accepted any more

	exchanges sync.WaitGroup      // added to under mu, while refused is nil
	spare     atomic.Pointer[job] // of an exchange that has ended
	last      sync.WaitGroup      // the goroutine that ends a refused connection
}

// Write gives a copy of frame to the host.
func (c *conn) Write(ctx context.Context, frame []byte) error {
	if ctx.Err() != nil {
		return fmt.Errorf("inmem: writing a frame: %w", context.Cause(ctx))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused != nil {
		return c.refused
	}
	if c.ctx.Err() != nil {
		return errClosed
	}
	frame = slices.Clone(frame)
	exchange, err := c.accept(frame)
	if err != nil {
		c.refuse(err)
		return err
	}
	if exchange != nil {
		c.start(exchange, frame)
	}
	return nil
}

// job is an exchange and the frame that it came of. It is used again, for what a
// goroutine begins with is allocated.
type job struct {
	exchange transport.Exchange
	frame    []byte
	run      func()
}

// start serves the exchange in a goroutine of its own. c.mu is held.
func (c *conn) start(exchange transport.Exchange, frame []byte) {
	j := c.spare.Swap(nil)
	if j == nil {
		j = &job{}
		j.run = func() {
			defer c.exchanges.Done()
			c.serve(j)
		}
	}
	j.exchange, j.frame = exchange, frame
	c.exchanges.Add(1)
	go j.run()
}

// accept is Host.Accept. A panic is the fault of one frame and does not end the
// connection: there is neither exchange nor error then.
func (c *conn) accept(frame []byte) (exchange transport.Exchange, err error) {
	defer c.recovered(frame)
	exchange, err = c.host.Accept(c.ctx, frame)
	if err != nil {
		return nil, fmt.Errorf("inmem: accepting a frame: %w", err)
	}
	return exchange, nil
}

// refuse ends the connection once the accepted exchanges have ended. c.mu is held.
func (c *conn) refuse(err error) {
	c.refused = err
	c.last.Go(func() {
		c.exchanges.Wait()
		c.cancel(err)
	})
}

func (c *conn) serve(j *job) {
	exchange, frame := j.exchange, j.frame
	j.exchange, j.frame = nil, nil
	c.spare.Store(j)
	defer c.recovered(frame)
	// The error is that of a Send that came too late, and its sender knows.
	_ = exchange.Serve(c.ctx, outbound{c})
}

// recovered is to be deferred. It answers in place of the exchange.
func (c *conn) recovered(frame []byte) {
	value := recover()
	if value == nil {
		return
	}
	_, _ = fmt.Fprintf(os.Stderr, "inmem: panic in the host: %v\n%s", value, debug.Stack())
	if answer := hostcall.ErrorPanicked(frame); answer != nil {
		_ = outbound{c}.Send(c.ctx, transport.Frame{JSON: answer})
	}
}

// Read returns the next frame; when the connection has ended, the frames that were
// sent before, and then io.EOF.
func (c *conn) Read(ctx context.Context) ([]byte, error) {
	select {
	case frame := <-c.queue:
		return frame, nil
	default:
	}
	select {
	case frame := <-c.queue:
		return frame, nil
	case <-c.ctx.Done():
		return c.rest()
	case <-ctx.Done():
		return nil, fmt.Errorf("inmem: waiting for a frame: %w", context.Cause(ctx))
	}
}

// rest is Read after the end.
func (c *conn) rest() ([]byte, error) {
	select {
	case frame := <-c.queue:
		return frame, nil
	default:
		return nil, io.EOF
	}
}

// Close cancels the exchanges and waits for them. It returns nil.
func (c *conn) Close() error {
	c.cancel(errClosed)
	c.mu.Lock()
	if c.refused == nil {
		c.refused = errClosed
	}
	c.mu.Unlock()
	c.exchanges.Wait()
	c.last.Wait()
	return nil
}

// outbound is the server's half of the connection.
type outbound struct{ c *conn }

var errEmptyFrame = errors.New("inmem: empty frame")

// Send queues a copy of frame.
func (o outbound) Send(ctx context.Context, frame transport.Frame) error {
	if len(frame.JSON) == 0 {
		return errEmptyFrame
	}
	ctx = frame.Bound(ctx)
	// select takes any case that is ready, and the queue mostly is.
	if ctx.Err() != nil {
		return fmt.Errorf("inmem: sending a frame: %w", context.Cause(ctx))
	}
	if o.c.ctx.Err() != nil {
		return fmt.Errorf("inmem: sending a frame: %w", context.Cause(o.c.ctx))
	}
	select {
	case o.c.queue <- slices.Clone(frame.JSON):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("inmem: sending a frame: %w", context.Cause(ctx))
	case <-o.c.ctx.Done():
		return fmt.Errorf("inmem: sending a frame: %w", context.Cause(o.c.ctx))
	}
}
