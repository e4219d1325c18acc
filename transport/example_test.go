package transport_test

import (
	"context"
	"fmt"

	"github.com/kagami-mcp/kagami/transport"
)

// A step that prints each frame, both ways. A program gives it to App.UseFrames.
func ExampleMiddleware() {
	printed := func(next transport.Next) transport.Next {
		return func(ctx context.Context, frame []byte, out transport.Outbound) error {
			fmt.Printf("in:  %s\n", frame)
			return next(ctx, frame, transport.OutboundFunc(func(ctx context.Context, sent transport.Frame) error {
				fmt.Printf("out: %s\n", sent.JSON)
				return out.Send(ctx, sent)
			}))
		}
	}

	// In place of a server and its client.
	answer := func(ctx context.Context, _ []byte, out transport.Outbound) error {
		return out.Send(ctx, transport.Frame{JSON: []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`), Final: true})
	}
	client := transport.OutboundFunc(func(context.Context, transport.Frame) error { return nil })

	if err := printed(answer)(context.Background(), []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), client); err != nil {
		fmt.Println(err)
	}
	// Output:
	// in:  {"jsonrpc":"2.0","id":1,"method":"ping"}
	// out: {"jsonrpc":"2.0","id":1,"result":{}}
}
