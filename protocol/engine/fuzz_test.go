package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/transport"
)

// FuzzFrames sends any bytes: whatever comes, what is answered is JSON, and the
// next correct call is answered.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{` + modernMeta + `}}`,
		`{"jsonrpc":"2.0","id":"a","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modernMeta + `}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},1,null]`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":0,"message":""}}`, `{`, `[]`, ``,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, frame []byte, handshake bool) {
		e := newEngine(t, catalog{"echo": echo})
		ctx, hangUp := context.WithCancel(t.Context())
		defer hangUp()
		var last string
		out := transport.OutboundFunc(func(_ context.Context, frame transport.Frame) error {
			if !json.Valid(frame.JSON) {
				t.Errorf("sent what is not JSON: %s", frame.JSON)
			}
			last = string(frame.JSON)
			return nil
		})
		ctx = transport.Connect(ctx, transport.Peer{Out: out})
		serve := func(frame string) {
			x, err := e.Accept(ctx, []byte(frame))
			if err != nil {
				t.Fatal(err)
			}
			// A listen stream ends by itself only with its context.
			serving, stop := context.WithTimeout(ctx, time.Second)
			if strings.Contains(frame, "listen") {
				stop()
			}
			defer stop()
			if err := x.Serve(serving, out); err != nil {
				t.Fatal(err)
			}
		}
		if handshake {
			serve(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		}
		serve(string(frame))
		serve(`{"jsonrpc":"2.0","id":"last","method":"ping"}`)
		if !strings.Contains(last, `"id":"last"`) {
			t.Fatalf("the next call was not answered after %q: %s", frame, last)
		}
	})
}
