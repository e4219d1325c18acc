package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// broken is the connection of a client that has left.
type broken struct{ after int }

func (b *broken) Send(context.Context, transport.Frame) error {
	if b.after--; b.after >= 0 {
		return nil
	}
	return errors.New("write: broken pipe")
}

// TestListenOfAClientThatLeft checks that a client that leaves before its stream has begun, or
// during its first frames, is not reported as a failure.
func TestListenOfAClientThatLeft(t *testing.T) {
	t.Parallel()
	for after := range 2 {
		e := engine.New(engine.Config{
			Info: protocol.Implementation{Name: "s", Version: "1"}, Catalog: catalog{},
			Failed: func(_ context.Context, _ *engine.Call, err error) { t.Errorf("after %d frames: %v", after, err) },
		})
		ctx, cancel := context.WithCancel(t.Context())
		out := &broken{after: after}
		ctx = transport.Connect(ctx, transport.Peer{Out: out})
		x, err := e.Accept(ctx, []byte(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+modernMeta+`}}`))
		if err != nil {
			t.Fatal(err)
		}
		if after > 0 { // the stream ends with a farewell
			x, e := x, e
			stopped := make(chan struct{})
			go func() { defer close(stopped); _ = x.Serve(ctx, out) }()
			_ = e.Shutdown(t.Context())
			<-stopped
		} else {
			_ = x.Serve(ctx, out)
		}
		cancel()
	}
}
