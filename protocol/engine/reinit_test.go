package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
)

// An initialize that is refused because its id is in flight opens no session: the
// client may try again, and is answered.
func TestRefusedInitializeOpensNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		e := newEngine(t, catalog{"slow": func(context.Context, *engine.Call) (protocol.Result, error) {
			<-release
			return text("done"), nil
		}})
		p := connect(t, e)
		p.send(`{"jsonrpc":"2.0","id":"init","method":"tools/call","params":{"name":"slow",` + modernMeta + `}}`)
		synctest.Wait()
		shows(t, p.ask(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`), `-32600`)
		close(release)
		shows(t, p.next(), "done")
		shows(t, p.initialize("2025-11-25", `{}`), `"protocolVersion":"2025-11-25"`)
		p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		time.Sleep(time.Second)
		synctest.Wait()
		select {
		case f := <-p.frames:
			shows(t, f, `"tools"`)
		default:
			t.Fatal("the session waits for an answer to initialize that never comes")
		}
	})
}
