package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/transport"
)

// TestSessionAfterTheEnd: if a connection ends while its initialize is accepted, the engine does not
// keep the session.
func TestSessionAfterTheEnd(t *testing.T) {
	t.Parallel()
	e := New(Config{Changes: memory.New().Changes()})
	link := transport.ConnectionFrom(transport.Connect(context.WithoutCancel(t.Context()), transport.Peer{}))
	c := e.connected(link)
	opened := e.connected(transport.ConnectionFrom(transport.Connect(context.WithoutCancel(t.Context()), transport.Peer{})))
	e.drop(link)
	for _, c := range []*conn{c, opened} {
		if _, fresh := c.open(&protocol.InitializeParams{}, nil); !fresh {
			t.Fatal("the session was not opened")
		}
	}
	if _, err := c.newAsk(nil); !errors.Is(err, errGone) {
		t.Errorf("a question to a client that is gone: %v", err)
	}
	c.current().feed.WatchAll([]string{"x://r"})
	if e.feeds.UpdateAll() {
		t.Error("the engine notifies a session whose connection has ended")
	}
	if id := c.current().id; e.connOf(id) != nil {
		t.Error("the engine keeps the session of a connection that has ended")
	}
	if id := opened.current().id; e.connOf(id) != opened {
		t.Error("the engine does not know an open session")
	}
	again := e.connected(transport.ConnectionFrom(transport.Connect(context.WithoutCancel(t.Context()), transport.Peer{})))
	again.session.Store(opened.current())
	e.register(again)
	e.drop(opened.link)
	if id := opened.current().id; e.connOf(id) != again {
		t.Error("the end of a connection forgets another one that serves the session now")
	}
	e.drop(again.link)
	if len(e.sessions) != 0 {
		t.Errorf("%d sessions are kept, want none", len(e.sessions))
	}
}

// TestUnregister: a request that has ended leaves nothing in its connection, and its end does not
// take out a later request with the same id.
func TestUnregister(t *testing.T) {
	t.Parallel()
	e := New(Config{MaxInFlight: 2})
	c := &conn{e: e}
	listen := func(id int64) *exchange {
		x := &exchange{origin: origin{conn: c, id: jsonrpc.IntID(id), dialect: dialect.Handshake("")}}
		if fault := x.register(); fault != nil {
			t.Fatal(fault)
		}
		x.subscribed(&protocol.ListenParams{Filter: protocol.SubscriptionFilter{URIs: []string{"x://r"}}})
		return x
	}
	other, first := listen(1), listen(2)
	c.unregister(first)
	second := listen(2)
	c.unregister(first)
	if c.call(second.id) != second || len(c.listens) != 2 {
		t.Error("the end of a request takes out another one")
	}
	c.unregister(second)
	c.unregister(other)
	if len(c.requests()) != 0 || len(c.listens) != 0 {
		t.Errorf("%d requests and %d streams are left", len(c.requests()), len(c.listens))
	}
	if e.feeds.UpdateAll() {
		t.Error("the engine still watches resources for streams that have ended")
	}
}

// TestUnwatch: a wait for a task leaves nothing behind, also if there is no such task.
func TestUnwatch(t *testing.T) {
	t.Parallel()
	e := New(Config{Tasks: memory.New().Tasks()})
	x := &exchange{origin: origin{conn: &conn{e: e}}}
	if _, err := x.awaitTask(t.Context(), "none"); err == nil {
		t.Error("there is a task")
	}
	if left := e.watches.IDs(); len(left) != 0 {
		t.Errorf("the engine still watches %q", left)
	}
}

// TestForwardedAnswersAreBounded checks the limit for answers that a connection leaves for other nodes.
// It can leave more only later.
func TestForwardedAnswersAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &conn{e: &Engine{cfg: Config{AskTimeout: time.Minute}}}
		for range 2 {
			for i := range maxLeft {
				if !c.mayLeave() {
					t.Fatalf("answer %d is refused", i)
				}
			}
			if c.mayLeave() {
				t.Error("an answer above the limit is accepted")
			}
			time.Sleep(time.Minute + 1)
		}
	})
}
