package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

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

// deaf is the connection of a client that does not read.
type deaf struct{}

func (deaf) Send(ctx context.Context, _ transport.Frame) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestAskOfAClientThatLeft checks that a question that cannot be written has the error of a client that has left, and
// not of a fault of the server. A deadline of the handler is another error.
func TestAskOfAClientThatLeft(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		out   transport.Outbound
		limit time.Duration
		gone  bool
		says  string
	}{
		{&broken{}, time.Hour, true, "broken pipe"},
		{deaf{}, time.Millisecond, false, context.DeadlineExceeded.Error()},
	} {
		asked := make(chan error, 1)
		e := newEngine(t, catalog{"ask": func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
			ctx, cancel := context.WithTimeout(ctx, tt.limit)
			defer cancel()
			_, err := ask(ctx, c, &protocol.PingParams{}, nil)
			asked <- err
			return nil, err
		}})
		p := connect(t, e)
		p.initialize("2025-11-25", `{}`)
		x, err := e.Accept(p.ctx, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(p.ctx)
		time.AfterFunc(time.Second, cancel) // of the answer, which a full connection does not take either
		_ = x.Serve(ctx, tt.out)
		cancel()
		if err := <-asked; errors.Is(err, transport.ErrNoSession) != tt.gone || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("got %v", err)
		}
	}
}
