package stdio

import (
	"errors"
	"io"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

const (
	defaultMaxFrame      = 16 << 20
	defaultMaxConcurrent = 1024
	mostConcurrent       = 1 << 16
	defaultGrace         = 5 * time.Second // of exchanges, at the end of Serve, unless the host has one
	defaultExit          = 2 * time.Second // of a child process, at each step of Close
	unset                = time.Duration(-1)

	// settle is how long cancelled work may take to return before it is left behind.
	settle = time.Second
)

// Option configures New, NewConn and Dial. If an option is given twice, the last one counts. A nil
// option makes Serve and Dial return an error, and Read and Write of a connection of NewConn.
type Option interface{ option(*config) }

type optionFunc func(*config)

func (f optionFunc) option(c *config) { f(c) }

type config struct {
	fault         error     // error in the options
	in            io.Reader // nil: the standard input; likewise out
	out           io.Writer
	maxFrame      int
	maxConcurrent int
	grace         time.Duration
	peer          transport.Peer
	fewApart      int // number of exchanges that get goroutines of their own after a slow one
}

var errNilOption = errors.New("stdio: an option is nil")

func newConfig(opts []Option) config {
	c := config{
		maxFrame:      defaultMaxFrame,
		maxConcurrent: defaultMaxConcurrent,
		grace:         unset,
		peer:          transport.Peer{Carrier: "stdio"},
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

// Streams replaces os.Stdin and os.Stdout. The streams belong to the carrier while Serve runs, and
// cannot be used afterwards. Serve does not close out. A nil stream is not replaced.
func Streams(in io.Reader, out io.Writer) Option {
	return optionFunc(func(c *config) { c.in, c.out = in, out })
}

// MaxFrame bounds an incoming frame to n bytes; the default is 16 MiB. Zero or less selects the
// default.
func MaxFrame(n int) Option {
	return optionFunc(func(c *config) {
		if c.maxFrame = n; n <= 0 {
			c.maxFrame = defaultMaxFrame
		}
	})
}

// MaxConcurrent bounds the exchanges that run at the same time to n; the default is 1024, the
// maximum 65536. Zero or less selects the default. While n exchanges run, nothing is read: no answer
// to a question, no cancellation, and not the end of the input. A call that waits for an answer and
// an open subscription count. To run handlers one after the other, use [middleware.Concurrency].
//
// [middleware.Concurrency]: https://pkg.go.dev/github.com/kagami-mcp/kagami/middleware#Concurrency
func MaxConcurrent(n int) Option {
	return optionFunc(func(c *config) {
		if c.maxConcurrent = min(n, mostConcurrent); n <= 0 {
			c.maxConcurrent = defaultMaxConcurrent
		}
	})
}

// Grace sets how long accepted exchanges may go on after the input or ctx has ended. The default is
// the host's (see [transport.Services]), or else 5 s. Then their contexts are cancelled. For Dial
// it sets how long each step of ending the process may take; the default is 2 s. With zero or less,
// the contexts are cancelled, and the process is killed, at once.
func Grace(d time.Duration) Option {
	return optionFunc(func(c *config) { c.grace = max(d, 0) })
}

// Peer describes the other end, for carriers that are built on this one, such as a carrier for Unix
// sockets. If p.Out is nil, the connection's own Outbound is used.
func Peer(p transport.Peer) Option {
	return optionFunc(func(c *config) { c.peer = p })
}
