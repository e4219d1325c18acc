package mcpfx_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/mcpfx"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport/fiberhttp"
)

// TestStopTimeoutLeavesTimeForTheRest: a call that lasts until the end is cancelled early enough for what
// the server uses to be closed.
func TestStopTimeoutLeavesTimeForTheRest(t *testing.T) {
	t.Parallel()
	inside, closed := make(chan struct{}), make(chan struct{})
	bound := make(chan net.Addr, 1)
	app := fx.New(
		mcpfx.Module("shop", "1.0.0", mcpfx.HTTP("127.0.0.1:0", fiberhttp.OnListen(func(a net.Addr) { bound <- a })),
			mcpfx.Options(framework.WithLogger(zap.NewNop()))),
		mcpfx.Provide(func(lc fx.Lifecycle) endless {
			lc.Append(fx.StopHook(func() { close(closed) }))
			return endless(inside)
		}))
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := connect(t, fmt.Sprintf("http://%s/mcp", <-bound))
	var calling sync.WaitGroup
	calling.Go(func() { _, _ = client.Call[string](t.Context(), c, "endless", struct{}{}) })
	<-inside
	ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
	defer cancel()
	_ = app.Stop(ctx) // the error of the cancelled call
	select {
	case <-closed:
	default:
		t.Error("what the server uses was not closed")
	}
	calling.Wait()
}

// endless is a provider of a tool that runs until it is cancelled.
type endless chan<- struct{}

func (e endless) Components() []framework.Component {
	return []framework.Component{framework.Tool("endless", func(ctx context.Context, _ struct{}) (string, error) {
		close(e)
		<-ctx.Done()
		return "", ctx.Err()
	})}
}

// TestStartedAgain: fx allows a second start after one that failed. It is an error, because a server is
// served once.
func TestStartedAgain(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	app := fx.New(mcpfx.Module("shop", "1.0.0", mcpfx.HTTP(l.Addr().String())), mcpfx.Provide(newBilling), fx.NopLogger)
	refused(t, app.Start(t.Context()), "address already in use")
	refused(t, app.Start(t.Context()), "has stopped")
}
