// Package hostcall calls a host under recover, and makes the JSON-RPC errors that a carrier sends
// by itself. A panic of the host ends only one exchange. The [Log] has the panic, and the peer gets
// an error without the panic's text.
package hostcall

import (
	"context"

	"github.com/kagami-mcp/kagami/transport"
)

// Accept calls Host.Accept. After a panic it returns neither an exchange nor an error.
func Accept(ctx context.Context, logs *Log, host transport.Host, frame []byte) (exchange transport.Exchange, err error) {
	defer func() {
		if value := recover(); value != nil {
			logs.Panicked(value)
			exchange, err = nil, nil
		}
	}()
	return host.Accept(ctx, frame)
}

// Serve calls Exchange.Serve. After a panic it sends the answer that the exchange owes for frame.
// The error of Serve is dropped: it is the error of a Send of out, which the carrier has seen.
func Serve(ctx context.Context, logs *Log, x transport.Exchange, out transport.Outbound, frame []byte) {
	defer Answer(ctx, logs, out, frame)
	_ = x.Serve(ctx, out)
}

// Answer must be deferred around calls of the host. After a panic it reports the value, and sends
// the answer that is owed for frame.
func Answer(ctx context.Context, logs *Log, out transport.Outbound, frame []byte) {
	value := recover()
	if value == nil {
		return
	}
	logs.Panicked(value)
	if answer := ErrorPanicked(frame); answer != nil {
		_ = out.Send(ctx, transport.Frame{JSON: answer, Final: true}) // a second failure changes nothing
	}
}
