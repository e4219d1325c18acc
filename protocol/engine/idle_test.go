package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// One client that never reads among 200 makes nobody else wait: each change reaches the
// others before the next happens, and what the one has missed is merged.
func TestStuckAmongMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const many, changes = 200, 5
		e := newEngine(t, catalog{})
		bad := connect(t, e)
		calls, release := 0, make(chan struct{})
		ctx := transport.Connect(bad.ctx, transport.Peer{Out: transport.OutboundFunc(func(context.Context, []byte) error {
			calls++
			<-release
			return nil
		})})
		bad.ctx = ctx
		bad.initialize("2025-11-25", `{}`)
		others := make([]*peer, many-1)
		for i := range others {
			others[i] = connect(t, e)
			others[i].initialize("2025-11-25", `{}`)
		}
		for range changes {
			e.Changed(protocol.ListTools)
			synctest.Wait()
			for i, p := range others {
				if len(p.frames) != 1 || !strings.Contains(<-p.frames, "tools/list_changed") {
					t.Fatalf("client %d was not told at once", i)
				}
			}
		}
		if calls != 1 {
			t.Errorf("%d sends to the one that is stuck", calls)
		}
		close(release)
		synctest.Wait()
		if calls != 2 {
			t.Errorf("%d sends to it in all, want 2", calls)
		}
	})
}

// What one handler does to what it is shown of its client is not seen in another session.
func TestIntroductionsAreNotLent(t *testing.T) {
	t.Parallel()
	const said = `{"extensions":{"a/b":{}},"experimental":{"c":{}},"roots":{}}`
	var seen []int
	e := newEngine(t, catalog{"echo": func(_ context.Context, c *engine.Call) (protocol.Result, error) {
		caps := c.Capabilities()
		seen = append(seen, len(caps.Extensions)+len(caps.Experimental))
		if !caps.Roots {
			t.Error("there are roots")
		}
		clear(caps.Extensions)
		clear(caps.Experimental)
		return text(c.Client().Name), nil
	}})
	for range 2 {
		p := connect(t, e)
		p.initialize("2025-11-25", said)
		shows(t, p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`), `"text":"c"`)
	}
	if len(seen) != 2 || seen[0] != seen[1] || seen[0] == 0 {
		t.Errorf("capabilities with %v entries", seen)
	}
}

// Clients that say different things of themselves are told apart, also when there are
// more of them than are remembered.
func TestIntroductions(t *testing.T) {
	t.Parallel()
	e := newEngine(t, catalog{"echo": func(_ context.Context, c *engine.Call) (protocol.Result, error) {
		return text(c.Client().Name), nil
	}})
	for range 2 {
		for n := range 300 {
			name, _ := json.Marshal(strings.Repeat("x", n))
			p := connect(t, e)
			p.ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":` +
				string(name) + `,"version":"1"}}}`)
			shows(t, p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`), `"text":`+string(name))
			p.close()
		}
	}
}

// Requests in flight are told apart by their ids, whichever of them end first.
func TestInFlight(t *testing.T) {
	t.Parallel()
	for first := range 3 {
		synctest.Test(t, func(t *testing.T) {
			var ends [3]chan struct{}
			for i := range ends {
				ends[i] = make(chan struct{})
			}
			e := newEngine(t, catalog{"echo": func(_ context.Context, c *engine.Call) (protocol.Result, error) {
				var in struct{ N int }
				p, _ := c.Params.(*protocol.CallToolParams)
				if err := json.Unmarshal(p.Arguments, &in); err != nil {
					return nil, err
				}
				<-ends[in.N]
				return text("done"), nil
			}})
			p := connect(t, e)
			p.initialize("2025-11-25", `{}`)
			call := func(n string) string {
				return `{"jsonrpc":"2.0","id":` + n + `,"method":"tools/call","params":{"name":"echo","arguments":{"n":` + n + `}}}`
			}
			for _, n := range []string{"0", "1", "2"} {
				p.send(call(n))
			}
			for range 3 {
				for _, n := range []string{"0", "1", "2"} {
					shows(t, p.ask(call(n)), `"code":-32600`) // in flight
				}
			}
			close(ends[first])
			shows(t, p.next(), "done")
			n := string(rune('0' + first))
			shows(t, p.ask(call(n)), `"id":`+n, "done") // free again
			for i := range ends {
				if i != first {
					close(ends[i])
					shows(t, p.next(), "done")
				}
			}
		})
	}
}
