// Package hostcall calls a host under recover, and makes the JSON-RPC errors that a carrier
// sends by itself. A panic that the host lets through costs one exchange: it is written to the
// standard error stream, and the peer gets an answer without its text.
package hostcall

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/kagami-mcp/kagami/transport"
)

// Accept calls Host.Accept. After a panic it returns neither an exchange nor an error.
func Accept(ctx context.Context, host transport.Host, frame []byte) (exchange transport.Exchange, err error) {
	defer func() {
		if value := recover(); value != nil {
			Report(value)
			exchange, err = nil, nil
		}
	}()
	return host.Accept(ctx, frame)
}

// Serve calls Exchange.Serve. After a panic it sends the answer that the exchange owes for frame.
// The error of Serve is dropped: it is the error of a Send of out, which the carrier has seen.
func Serve(ctx context.Context, x transport.Exchange, out transport.Outbound, frame []byte) {
	defer Answer(ctx, out, frame)
	_ = x.Serve(ctx, out)
}

// Answer must be deferred around calls of the host. After a panic it reports the value, and sends
// the answer that is owed for frame.
func Answer(ctx context.Context, out transport.Outbound, frame []byte) {
	value := recover()
	if value == nil {
		return
	}
	Report(value)
	if answer := ErrorPanicked(frame); answer != nil {
		_ = out.Send(ctx, transport.Frame{JSON: answer, Final: true}) // a second failure changes nothing
	}
}

// Recover reports a panic of the goroutine that defers it, and ends the panic.
func Recover() {
	if value := recover(); value != nil {
		Report(value)
	}
}

// Report writes a recovered value and the stack at once, so that reports do not mix.
func Report(value any) {
	_, _ = fmt.Fprintf(os.Stderr, "transport: panic while serving: %v\n%s", value, debug.Stack())
}
