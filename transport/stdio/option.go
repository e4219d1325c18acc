package stdio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

const (
	defaultMaxFrame      = 16 << 20
	defaultMaxConcurrent = 1024
	mostConcurrent       = 1 << 16
	defaultGrace         = 5 * time.Second // of exchanges, at the end of Serve
	defaultExit          = 2 * time.Second // of a child process, at each step of Close
	unset                = time.Duration(-1)

	// settle is how long cancelled work may take to notice before it is left behind.
	settle = time.Second
)

// Option configures New, NewConn and Dial. A nil option is an error of Serve, of Dial, and
// of Read and Write of what NewConn makes.
type Option interface{ option(*config) }

type optionFunc func(*config)

func (f optionFunc) option(c *config) { f(c) }

type config struct {
	fault         error     // of the options
	in            io.Reader // nil: the process's own, and so for out
	out           io.Writer
	maxFrame      int
	maxConcurrent int
	grace         time.Duration
	peer          transport.Peer
	onPanic       func(value any, stack []byte)
	fewApart      int // exchanges that have goroutines of their own after a slow one
}

var errNilOption = errors.New("stdio: an option is nil")

func newConfig(opts []Option) config {
	c := config{
		maxFrame:      defaultMaxFrame,
		maxConcurrent: defaultMaxConcurrent,
		grace:         unset,
		peer:          transport.Peer{Carrier: "stdio"},
		onPanic:       reportPanic,
		fewApart:      fewApart,
	}
	for _, o := range opts {
		if o == nil {
			c.fault = errNilOption
			continue
		}
		o.option(&c)
	}
	return c
}

func (c *config) graceOr(d time.Duration) time.Duration {
	if c.grace == unset {
		return d
	}
	return c.grace
}

// Streams replaces os.Stdin and os.Stdout. The streams belong to the carrier while Serve
// runs and cannot be used afterwards; it does not close out. A nil one is not replaced.
func Streams(in io.Reader, out io.Writer) Option {
	return optionFunc(func(c *config) { c.in, c.out = in, out })
}

// MaxFrame bounds an incoming frame to n bytes; the default is 16 MiB. Zero or
// less is the default.
func MaxFrame(n int) Option {
	return optionFunc(func(c *config) {
		if n > 0 {
			c.maxFrame = n
		}
	})
}

// MaxConcurrent bounds the exchanges that run at once to n; the default is 1024,
// the most is 65536. Zero or less is the default.
func MaxConcurrent(n int) Option {
	return optionFunc(func(c *config) {
		if n > 0 {
			c.maxConcurrent = min(n, mostConcurrent)
		}
	})
}

// Grace sets how long accepted exchanges may go on after the end of the input or of ctx
// before their contexts are cancelled; the default is 5 s. For Dial it is how long each
// step of ending the process may take; the default is 2 s. With zero or less the contexts
// are cancelled, and the process is killed, at once.
func Grace(d time.Duration) Option {
	return optionFunc(func(c *config) { c.grace = max(d, 0) })
}

// Peer says who is at the other end, for carriers built on this one, such as one for Unix
// sockets. If Peer.Out is nil, it is this connection's own.
func Peer(p transport.Peer) Option {
	return optionFunc(func(c *config) { c.peer = p })
}

// OnPanic has f called with a panic that the host let through, possibly from many
// goroutines at once. The request is answered and the connection goes on either way. The
// default, also for nil, writes value and stack to the standard error stream.
func OnPanic(f func(value any, stack []byte)) Option {
	return optionFunc(func(c *config) {
		if f != nil {
			c.onPanic = f
		}
	})
}

// reportPanic writes at once, so that two reports do not mix.
func reportPanic(value any, stack []byte) {
	_, _ = fmt.Fprintf(os.Stderr, "stdio: panic in the host: %v\n%s", value, stack)
}
