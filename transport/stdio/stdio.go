package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

// New carries frames over the process's standard streams, or over those of
// [Streams]. Its Serve runs one connection, and may be called again or
// concurrently only with streams of its own each time.
//
// Serve returns nil when the input or ctx has ended or the peer reads no more, and
// otherwise the first error of reading, of writing, or of Host.Accept.
func New(opts ...Option) transport.Transport {
	return &carrier{config: newConfig(opts)}
}

type carrier struct{ config }

// Serve runs one connection to its end; see the package documentation.
func (c *carrier) Serve(ctx context.Context, host transport.Host) error {
	if c.fault != nil {
		return c.fault
	}
	in, out := c.in, c.out
	if in == nil {
		protocol, restore, err := GuardStdin()
		if err != nil {
			return fmt.Errorf("guarding the standard input: %w", err)
		}
		defer restore()
		in = protocol
	}
	if out == nil {
		protocol, restore, err := GuardStdout()
		if err != nil {
			return fmt.Errorf("guarding the standard output: %w", err)
		}
		defer restore()
		out = protocol
	}
	return newServing(ctx, &c.config, host, in, out).run(ctx)
}

// peerGone says whether an error of a stream means only that nobody is at its
// other end any more, or that the end of Serve has cut it off.
func peerGone(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(streamEnd(err), io.EOF)
}

// lasting is what was the standard input. It has no Close, which would not end a Read that
// waits for a terminal or a blocking pipe.
type lasting struct{ file *os.File }

// SetReadDeadline interrupts a Read where the system can do that.
func (l lasting) SetReadDeadline(t time.Time) error { return l.file.SetReadDeadline(t) }

// Read reads the file.
func (l lasting) Read(p []byte) (int, error) { return l.file.Read(p) }
