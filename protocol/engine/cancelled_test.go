package engine_test

import (
	"testing"

	"github.com/kagami-mcp/kagami/transport"
)

// TestCancelledIDIsFreeAtOnce: the next frame may use the id of a request that was cancelled, even if
// neither the request nor the cancellation has been served. Nothing more is sent for the first one.
func TestCancelledIDIsFreeAtOnce(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{
		"call":         `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`,
		"subscription": `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modernMeta + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t, catalog{"echo": echo})
			p := connect(t, e)
			p.initialize("2025-11-25", `{}`)
			accept := func(frame string) transport.Exchange {
				x, err := e.Accept(p.ctx, []byte(frame))
				if err != nil {
					t.Fatal(err)
				}
				return x
			}
			x := accept(first)
			cancellation := accept(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			shows(t, p.ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), `"id":1,"result":{}`)
			for _, x := range []transport.Exchange{cancellation, x} {
				_ = x.Serve(p.ctx, p) // of a subscription that was cancelled: the cause
			}
			if len(p.frames) != 0 {
				t.Fatalf("sent: %s", <-p.frames)
			}
		})
	}
}

// TestInitializeIsNotCancelled: the client MUST NOT cancel initialize (2025-11-25
// basic/utilities/cancellation), so a cancellation of it does nothing.
func TestInitializeIsNotCancelled(t *testing.T) {
	t.Parallel()
	e := newEngine(t, catalog{"echo": echo})
	p := connect(t, e)
	x, err := e.Accept(p.ctx, []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	p.quiet(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if err := x.Serve(p.ctx, p); err != nil {
		t.Fatal(err)
	}
	shows(t, p.next(), `"id":1,"result"`)
}
