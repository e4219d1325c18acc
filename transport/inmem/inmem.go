// Package inmem connects a client's [transport.Conn] and a host in one process, without streams,
// sockets or timers.
//
//	conn := inmem.Dial(ctx, host)
//	defer conn.Close()
//
// Frames are accepted in the order of the calls of Write, and delivered in the order of the calls
// of Send. Both sides get copies. Each exchange is served in a goroutine of the connection. Close
// cancels the exchanges and waits for them, so that no goroutine of the connection remains. At most
// 1024 frames wait to be read; then Send blocks until a frame is read or the connection ends.
//
// A connection shares nothing with other connections and does not use a clock. It works inside a
// testing/synctest bubble if it is dialed there.
//
// The package does not bound the size of frames or the number of exchanges, because the client is
// the same program. The context of Dial may have a principal (transport.WithPrincipal).
package inmem

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kagami-mcp/kagami/transport"
)

// queued is the number of frames that wait for a reader before Send blocks.
const queued = 1024

var errClosed = fmt.Errorf("inmem: connection closed: %w", io.ErrClosedPipe)

// Dial connects to host. The connection lasts until Close or the end of ctx. The host sees the
// values of ctx. The connection is also the host's Outbound for frames that do not belong to an
// exchange (transport.Peer).
//
// If the host accepts no more frames, Write returns its error. Exchanges that were accepted go on,
// and after them Read returns io.EOF. Close may be called more than once. An exchange of the
// connection must not call Close, which would wait for the exchange.
func Dial(ctx context.Context, host transport.Host) transport.Conn {
	c := &conn{host: host, queue: make(chan []byte, queued)}
	ctx, c.cancel = context.WithCancelCause(ctx)
	c.ctx = transport.Connect(ctx, transport.Peer{Carrier: "memory", Out: outbound{c}})
	return c
}

type conn struct {
	host   transport.Host
	ctx    context.Context //nolint:containedctx // of the connection and its exchanges, which outlast single calls
	cancel context.CancelCauseFunc
	queue  chan []byte // never closed, because Send may be called after the end

	mu      sync.Mutex // held during Accept; guards refused
	refused error      // if not nil, no more frames are accepted

	exchanges sync.WaitGroup      // Add is called under mu, while refused is nil
	spare     atomic.Pointer[job] // job of an exchange that has ended; may be nil
	last      sync.WaitGroup      // waits for the goroutine that ends a refused connection
}

// Write passes a copy of frame to the host.
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
	exchange, err := c.host.Accept(c.ctx, slices.Clone(frame))
	if err != nil {
		err = fmt.Errorf("inmem: accepting a frame: %w", err)
		c.refuse(err)
		return err
	}
	c.start(exchange)
	return nil
}

// job is an exchange. It is reused, because the function of a goroutine is allocated.
type job struct {
	exchange transport.Exchange
	run      func()
}

// start serves the exchange in a goroutine of its own. The caller holds c.mu.
func (c *conn) start(exchange transport.Exchange) {
	j := c.spare.Swap(nil)
	if j == nil {
		j = &job{}
		j.run = func() {
			defer c.exchanges.Done()
			c.serve(j)
		}
	}
	j.exchange = exchange
	c.exchanges.Add(1)
	go j.run()
}

// refuse ends the connection when the accepted exchanges have ended. The caller holds c.mu.
func (c *conn) refuse(err error) {
	c.refused = err
	c.last.Go(func() {
		c.exchanges.Wait()
		c.cancel(err)
	})
}

func (c *conn) serve(j *job) {
	exchange := j.exchange
	j.exchange = nil
	c.spare.Store(j)
	_ = exchange.Serve(c.ctx, outbound{c}) // the error of a Send, after which the connection ends by itself
}

// Read returns the next frame. When the connection has ended, it returns the frames that were sent
// before, and then io.EOF.
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

// rest is called by Read when the connection has ended.
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

// outbound is the server's end of the connection.
type outbound struct{ c *conn }

var errEmptyFrame = errors.New("inmem: empty frame")

// Send queues a copy of frame.
func (o outbound) Send(ctx context.Context, frame transport.Frame) error {
	if len(frame.JSON) == 0 {
		return errEmptyFrame
	}
	ctx = frame.Bound(ctx)
	// A select with several ready cases could still queue the frame.
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
