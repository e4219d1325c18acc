package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// keeper is the kept state of one session.
type keeper struct {
	mu      sync.Mutex
	data    string
	version uint64
	ended   bool // the client has ended the session
}

func (k *keeper) Load() ([]byte, uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return []byte(k.data), k.version
}

func (k *keeper) Update(_ context.Context, change func([]byte) []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		return fmt.Errorf("keeping a session: %w", transport.ErrNoSession)
	}
	var before []byte
	if k.version > 0 {
		before = []byte(k.data)
	}
	k.data = string(change(before))
	k.version++
	return nil
}

// TestUnreadableSession checks that a session with a state that this node cannot read, such as a
// state of a newer program, stays as it is for the nodes that can read it.
func TestUnreadableSession(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		newer  string
		status int // of a request that comes to a node without the session
	}{
		"another form of a member": {`{"id":{"form":2}}`, http.StatusNotFound},
		"another member":           {`{"v":1,"id":"s","uris":[],"new":1}`, http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := &keeper{}
			p := connect(t, newEngine(t, catalog{}))
			p.ctx = transport.Connect(p.ctx, transport.Peer{Out: p, SessionState: k})
			p.initialize("2025-11-25", "{}")
			k.mu.Lock()
			k.data, k.version = tt.newer, k.version+1
			k.mu.Unlock()
			shows(t, p.ask(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://r"}}`), `"code":-32603`)
			other := &site{
				t: t, e: newEngine(t, catalog{}), names: "live",
				session: transport.ConnectionFrom(transport.Connect(t.Context(), transport.Peer{Out: p, SessionState: k})),
			}
			if got := other.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); got.status != tt.status {
				t.Errorf("another node answers with %d %s", got.status, got.frames)
			}
			if data, _ := k.Load(); string(data) != tt.newer {
				t.Errorf("the state is %s now", data)
			}
		})
	}
}

// TestEndOfASessionDuringARequest: a request of a session that its client ends meanwhile, here or on
// another node, is answered with that, and is not reported as a failure of the server.
func TestEndOfASessionDuringARequest(t *testing.T) {
	t.Parallel()
	e := engine.New(engine.Config{
		Info: protocol.Implementation{Name: "s", Version: "1"}, Catalog: catalog{},
		Failed: func(_ context.Context, _ *engine.Call, err error) { t.Errorf("reported: %v", err) },
	})
	const ended = `"message":"the session has ended"`
	opening := connect(t, e)
	opening.ctx = transport.Connect(opening.ctx, transport.Peer{Out: opening, SessionState: &keeper{ended: true}})
	shows(t, opening.initialize("2025-11-25", "{}"), ended)

	k := &keeper{}
	later := connect(t, e)
	later.ctx = transport.Connect(later.ctx, transport.Peer{Out: later, SessionState: k})
	later.initialize("2025-11-25", "{}")
	k.mu.Lock()
	k.ended = true
	k.mu.Unlock()
	shows(t, later.ask(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://r"}}`), ended)
}

// TestNotifierOfARestoredSession: a carrier may end an idle session and restore it from its record. A
// notifier from before still reaches the client.
func TestNotifierOfARestoredSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var notify func(context.Context, protocol.Params) error
		e := engine.New(engine.Config{
			Info: protocol.Implementation{Name: "s", Version: "1"}, Changes: memory.New().Changes(),
			Catalog: catalog{"visit": func(_ context.Context, c *engine.Call) (protocol.Result, error) {
				notify = c.Notifier()
				return text("ok"), nil
			}},
		})
		k := &keeper{}
		before, after := connect(t, e), connect(t, e)
		ctx, end := context.WithCancel(before.ctx)
		before.ctx = transport.Connect(ctx, transport.Peer{Out: before, SessionState: k})
		before.initialize("2025-11-25", "{}")
		before.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"visit","arguments":{}}}`)
		end()
		synctest.Wait() // this node has dropped the session
		after.ctx = transport.Connect(after.ctx, transport.Peer{Out: after, SessionState: k})
		after.ask(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		if err := notify(t.Context(), &protocol.ElicitationCompleteParams{ID: "page"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(after.frames) != 1 {
			t.Fatalf("%d frames for the restored session", len(after.frames))
		}
		shows(t, after.next(), "notifications/elicitation/complete", "page")
		after.close()
		_ = e.Shutdown(t.Context())
	})
}

// TestKeptWithoutABus: with a store of sessions and nothing else, as the program's own store may be, a
// session goes on after a restart, and after a second one.
func TestKeptWithoutABus(t *testing.T) {
	t.Parallel()
	k := &keeper{}
	dial := func() *peer {
		p := connect(t, engine.New(engine.Config{
			Info: protocol.Implementation{Name: "s", Version: "1"}, Catalog: catalog{},
			Failed: func(_ context.Context, _ *engine.Call, err error) { t.Errorf("reported: %v", err) },
		}))
		p.ctx = transport.Connect(p.ctx, transport.Peer{Out: p, SessionState: k})
		return p
	}
	dial().initialize("2025-11-25", "{}")
	for _, level := range []string{"info", "error"} { // the level is kept, too
		shows(t, dial().ask(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"`+level+`"}}`), `"result":{}`)
	}
}
