package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/protocol/task"
	"github.com/kagami-mcp/kagami/transport"
)

// TestWatchedIsBounded: a client that names thousands of resources watches as many as it may, and the
// acknowledgement lists them. A larger request is refused. On handshake revisions one more is refused.
func TestWatchedIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		e := newEngine(t, catalog{"echo": echo})
		p := &peer{t: t, e: e, frames: make(chan string, 100)}
		p.ctx = transport.Connect(ctx, transport.Peer{Out: p})
		var uris []string
		for i := range 99_000 {
			uris = append(uris, fmt.Sprintf(`"test://r/%d"`, i))
		}
		listen := func(id int, uris []string) {
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":[%s]},%s}}`, id, strings.Join(uris, ","), modernMeta))
			synctest.Wait()
		}
		listen(2, uris)
		shows(t, p.next(), `"id":2`, `-32602`)
		listen(1, uris[:5000])
		if ack := p.next(); strings.Count(ack, "test://r/") != 1024 {
			t.Errorf("%d resources are acknowledged", strings.Count(ack, "test://r/"))
		}
		old := connect(t, e)
		old.initialize("2025-11-25", `{}`)
		for i := range 1024 {
			shows(t, old.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":"test://r/%d"}}`, i+10, i)), `"result":{}`)
		}
		shows(t, old.ask(`{"jsonrpc":"2.0","id":5,"method":"resources/subscribe","params":{"uri":"test://r/more"}}`), `-32602`, "at most 1024")
		shows(t, old.ask(`{"jsonrpc":"2.0","id":6,"method":"resources/subscribe","params":{"uri":"test://r/7"}}`), `"result":{}`)
		cancel()
		synctest.Wait()
	})
}

// counting counts the records that are read.
type counting struct {
	task.Store
	gets atomic.Int32
}

func (c *counting) Get(ctx context.Context, id string) (task.Record, error) {
	c.gets.Add(1)
	return c.Store.Get(ctx, id)
}

// TestWatchedTasksAreBounded: a listen request for 9,000 tasks reads no more than 1,024 of them.
func TestWatchedTasksAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &counting{Store: memory.New().Tasks()}
		e := engine.New(engine.Config{Info: protocol.Implementation{Name: "s", Version: "1"}, Catalog: catalog{"echo": echo}, Tasks: store})
		p := &peer{t: t, e: e, frames: make(chan string, 100)}
		ctx, leave := context.WithCancel(context.Background())
		p.ctx = transport.Connect(ctx, transport.Peer{Out: p})
		ids := make([]string, 9000)
		for i := range ids {
			ids[i] = fmt.Sprintf(`"%d"`, i)
		}
		meta := strings.Replace(modernMeta, `"io.modelcontextprotocol/clientCapabilities":{}`, `"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, 1)
		p.send(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"taskIds":[` + strings.Join(ids, ",") + `]},` + meta + `}}`)
		shows(t, p.next(), `subscriptions/acknowledged`)
		if n := store.gets.Load(); n == 0 || n > 1024 {
			t.Errorf("%d tasks were read, want 1 to 1,024", n)
		}
		leave()
		p.served.Wait()
	})
}

// TestSubscriptionsAreBoundedInBytes: a session keeps only so much text of its subscriptions.
func TestSubscriptionsAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	p := connect(t, newEngine(t, catalog{}))
	p.initialize("2025-11-25", `{}`)
	for i := range 10 {
		answer := p.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":"test://r/%d%s"}}`, i, i, strings.Repeat("x", 15<<10)))
		if strings.Contains(answer, `-32602`) != (i >= 8) {
			t.Errorf("subscription %d: %.200s", i, answer)
		}
	}
}

// TestCancelledBeforeListening: a subscription that is cancelled before it is served is not acknowledged.
func TestCancelledBeforeListening(t *testing.T) {
	t.Parallel()
	p := connect(t, newEngine(t, catalog{}))
	x, err := p.e.Accept(p.ctx, []byte(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{`+modernMeta+`,"notifications":{"toolsListChanged":true}}}`))
	if err != nil {
		t.Fatal(err)
	}
	p.quiet(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if err := x.Serve(p.ctx, p); err != nil {
		t.Fatal(err)
	}
	if len(p.frames) != 0 {
		t.Fatalf("sent after the cancellation: %s", <-p.frames)
	}
}
