package engine_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/change"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// A client that does not read stops what the node hears of all others.
func TestNodesSlowClientStopsTheBus(t *testing.T) {
	bus := listening{memory.New().Changes(), make(chan struct{})}
	session := make(chan string, 2)
	in := make(chan struct{})
	writes, release := make(chan struct{}), make(chan struct{})
	e := engine.New(engine.Config{Info: protocol.Implementation{Name: "s", Version: "1"}, Changes: bus, Catalog: catalog{
		"slow": func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
			session <- c.Session()
			close(in)
			c.Progress(ctx, 1, nil, "x") // blocks in Send
			return text("ok"), nil
		},
		"who": func(_ context.Context, c *engine.Call) (protocol.Result, error) {
			session <- c.Session()
			return text("ok"), nil
		},
	}})
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Shutdown(context.Background()) }()
	slow, other := connect(t, e), connect(t, e)
	slow.initialize("2025-11-25", "{}")
	other.initialize("2025-11-25", "{}")
	other.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"who","arguments":{}}}`)
	otherID := <-session
	x, err := e.Accept(slow.ctx, []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow","arguments":{},"_meta":{"progressToken":"p"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	slow.served.Go(func() { _ = x.Serve(slow.ctx, blocked{writes, release}) })
	<-in
	slowID := <-session
	<-writes
	<-bus.heard
	publish := func(session, frame string) {
		m, _ := json.Marshal(map[string]any{"engine": map[bool]string{true: "frame", false: "notify"}[session == slowID], "node": "another", "session": session, "frame": json.RawMessage(frame)})
		_ = bus.Publish(t.Context(), m)
	}
	publish(slowID, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	publish(otherID, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"for the other"}}`)
	select {
	case <-other.frames:
	case <-time.After(time.Minute):
		t.Error("the other client hears nothing while the slow one does not read")
	}
	close(release)
}

// listening is a bus that closes heard when its subscriber is there.
type listening struct {
	change.Bus
	heard chan struct{}
}

func (l listening) Subscribe(ctx context.Context, fn func([]byte)) error {
	var once sync.Once
	return l.Bus.Subscribe(ctx, func(message []byte) {
		fn(message)
		once.Do(func() { close(l.heard) }) // the first message says that others may have been lost
	})
}

// blocked is a client that does not read: its first frame waits until release is closed.
type blocked struct{ writes, release chan struct{} }

func (b blocked) Send(context.Context, transport.Frame) error {
	select {
	case b.writes <- struct{}{}:
	case <-b.release:
	}
	<-b.release
	return nil
}
