// Package guarded calls a host under recover: a panic that the host lets through
// costs one exchange, is written to the standard error stream, and is told to the
// peer without its text.
package guarded

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/internal/refusal"
)

// Accept is Host.Accept. After a panic there is neither exchange nor error.
func Accept(ctx context.Context, host transport.Host, frame []byte) (exchange transport.Exchange, err error) {
	defer func() {
		if value := recover(); value != nil {
			Report(value)
			exchange, err = nil, nil
		}
	}()
	return host.Accept(ctx, frame)
}

// Serve is Exchange.Serve. After a panic it sends the answer in the exchange's
// place. Errors are those of a Send, whose sender knows of them.
func Serve(ctx context.Context, x transport.Exchange, out transport.Outbound, frame []byte) {
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		Report(value)
		if answer := refusal.Panicked(frame); answer != nil {
			_ = out.Send(ctx, transport.Frame{JSON: answer, Final: true}) // nobody is left to tell
		}
	}()
	_ = x.Serve(ctx, out) // its sender knows
}

// Recover reports a panic that ends a goroutine, and is to be deferred there.
func Recover() {
	if value := recover(); value != nil {
		Report(value)
	}
}

// Report writes a recovered value and the stack at once, so that reports do not mix.
func Report(value any) {
	_, _ = fmt.Fprintf(os.Stderr, "transport: panic while serving: %v\n%s", value, debug.Stack())
}
