package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

// New returns a transport over the process's standard streams, or the streams of [Streams]. Serve
// runs one connection. Call Serve once: the streams cannot be used afterwards. Each further connection
// needs a transport with streams of its own.
//
// Serve returns nil when the input or ctx has ended, or when the peer does not read any more.
// Otherwise it returns the first error of reading, of writing, or of Host.Accept.
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

// peerGone reports whether an error of a stream only means that the peer has closed it, or that the
// end of Serve has interrupted it.
func peerGone(err error) bool {
	return slices.ContainsFunc(closedByPeer(), func(e syscall.Errno) bool { return errors.Is(err, e) }) ||
		errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(streamEnd(err), io.EOF)
}

// lasting is the original standard input. It has no Close, because Close would not end a Read that
// waits for a terminal or a blocking pipe.
type lasting struct{ file *os.File }

// SetReadDeadline interrupts a Read if the system supports that.
func (l lasting) SetReadDeadline(t time.Time) error { return l.file.SetReadDeadline(t) }

// Read reads the file.
func (l lasting) Read(p []byte) (int, error) { return l.file.Read(p) }
