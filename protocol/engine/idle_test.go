package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// One client that never reads, among 200, does not make the others wait. Each change reaches them
// before the next happens, and the changes that the one has missed are merged.
func TestStuckAmongMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const many, changes = 200, 5
		e := newEngine(t, catalog{})
		bad := connect(t, e)
		calls, release := 0, make(chan struct{})
		ctx := transport.Connect(bad.ctx, transport.Peer{Out: transport.OutboundFunc(func(context.Context, transport.Frame) error {
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
	p := connect(t, e)
	for range 4 {
		shows(t, p.ask(saying("c", said, "")), `"text":"c"`)
	}
	if len(seen) != 6 || slices.Max(seen) != slices.Min(seen) || seen[0] == 0 {
		t.Errorf("capabilities with %v entries", seen)
	}
}

// saying is a call of 2026-07-28 by a client of that name.
func saying(client, capabilities, more string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{` + more +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + capabilities +
		`,"io.modelcontextprotocol/clientInfo":{"name":"` + client + `","version":"1"}}}}`
}

// TestMetasAreToldApart checks that requests with different client information in _meta are
// distinguished, whether the _meta has come before or not, and whatever else is in it.
func TestMetasAreToldApart(t *testing.T) {
	t.Parallel()
	e := newEngine(t, catalog{"echo": func(_ context.Context, c *engine.Call) (protocol.Result, error) {
		return text(fmt.Sprintf("%s %v %v %s %s", c.Client().Name, c.Capabilities().Roots, c.Meta.ProgressToken, c.Meta.LogLevel, c.Meta.Raw)), nil
	}})
	p, q := connect(t, e), connect(t, e)
	for range 3 {
		for n := range 300 {
			name := fmt.Sprint("client", n)
			token := fmt.Sprintf(`"progressToken":%d,`, n%2)
			for _, tt := range []struct{ capabilities, more, want string }{
				{`{}`, ``, ` false   {`},
				{`{"roots":{}}`, ``, ` true   {`},
				{`{}`, token, fmt.Sprintf(` false %d  {`, n%2)},
				{`{}`, `"io.modelcontextprotocol/logLevel":"error",`, ` false  error {`},
				{`{}`, `"io.modelcontextprotocol/logLevel":"none",`, `-32602`},
				{`[1]`, ``, `-32602`},
			} {
				request := saying(name, tt.capabilities, tt.more)
				p.send(request)
				q.send(request)
				for _, answer := range []string{p.next(), q.next()} {
					meta, _ := json.Marshal(request[strings.Index(request, `"_meta":`)+8 : len(request)-2])
					if tt.want != "-32602" {
						shows(t, answer, name+tt.want, string(meta[1:len(meta)-1]))
						continue
					}
					shows(t, answer, tt.want)
				}
			}
		}
	}
}

// TestIntroductions checks that clients with different names are distinguished, even if there are
// more clients than are remembered.
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

// TestInFlight checks that requests in flight are distinguished by their ids, in whatever order
// they end.
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

// TestInitializeFrameIsNotKept: a session keeps what its client declared, and not the frame of initialize.
func TestInitializeFrameIsNotKept(t *testing.T) {
	t.Parallel()
	e := newEngine(t, catalog{})
	p := connect(t, e)
	gone := make(chan struct{})
	func() {
		frame := []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","more":"` + strings.Repeat("x", 1<<20) +
			`","params":{"protocolVersion":"2025-11-25","capabilities":{"experimental":{"a":{"b":1}},"extensions":{"c/d":{}}},"clientInfo":{"name":"c","version":"1"}}}`)
		runtime.AddCleanup(&frame[0], func(gone chan struct{}) { close(gone) }, gone)
		x, err := e.Accept(p.ctx, frame)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Serve(p.ctx, p); err != nil {
			t.Fatal(err)
		}
	}()
	shows(t, p.next(), `"protocolVersion"`)
	for range 20 {
		runtime.GC()
		select {
		case <-gone:
			runtime.KeepAlive(e)
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Error("the session keeps the frame")
	runtime.KeepAlive(e)
}
