package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
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

// An initialize that is answered with an error opens no session either: what came after it
// is refused, and the client may try again.
func TestInitializeAnsweredWithAnError(t *testing.T) {
	for shown, refusal := range map[string]error{
		"-31000":       &protocol.Error{Code: -31000, Message: "not you"},
		"Unauthorized": &transport.AuthError{Status: http.StatusUnauthorized},
	} {
		t.Run(shown, func(t *testing.T) { testInitializeAnsweredWith(t, refusal, shown) })
	}
}

func testInitializeAnsweredWith(t *testing.T, refusal error, shown string) {
	synctest.Test(t, func(t *testing.T) {
		decided := make(chan error)
		e := engine.New(engine.Config{Info: protocol.Implementation{Name: "s", Version: "1"}, Catalog: catalog{}, Frames: []transport.Middleware{
			func(next transport.Next) transport.Next {
				return func(ctx context.Context, frame []byte, out transport.Outbound) error {
					if strings.Contains(string(frame), `"initialize"`) {
						if err := <-decided; err != nil {
							return err
						}
					}
					return next(ctx, frame, out)
				}
			},
		}})
		p := connect(t, e)
		initialize := func(id string) {
			p.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		}
		initialize("1")
		p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		synctest.Wait()
		decided <- refusal
		shows(t, p.next(), `"id":1`, shown)
		shows(t, p.next(), `"id":2`, "-32602", "no session")
		shows(t, p.ask(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`), "-32602", "no session")
		if !transport.ConnectionFrom(p.ctx).Refused() {
			t.Error("the carrier was not told")
		}
		initialize("4")
		decided <- nil
		shows(t, p.next(), `"id":4`, `"protocolVersion":"2025-11-25"`)
		shows(t, p.ask(`{"jsonrpc":"2.0","id":5,"method":"tools/list"}`), `"tools"`)
	})
}

// What a client says of itself is kept as long as its session: it is bounded, and what is
// refused opens no session.
func TestInitializeIsBounded(t *testing.T) {
	t.Parallel()
	p := connect(t, newEngine(t, catalog{}))
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, `"x%d":{},`, i)
	}
	for params, bound := range map[string]string{
		`"capabilities":{},"clientInfo":{"name":"` + strings.Repeat("c", 65<<10) + `","version":"1"}`:                               "65536 bytes",
		`"capabilities":{"experimental":{"x":{"y":"` + strings.Repeat("x", 65<<10) + `"}}},"clientInfo":{"name":"c","version":"1"}`: "65536 bytes",
		`"capabilities":{"experimental":{` + strings.TrimSuffix(many.String(), ",") + `}},"clientInfo":{"name":"c","version":"1"}`:  "1000 members",
	} {
		frame := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` + params + `}}`
		shows(t, p.ask(frame), `-32602`, bound)
		web := &site{t: t, e: newEngine(t, catalog{})}
		if r := web.post(frame); r.status != http.StatusBadRequest || web.session != nil {
			t.Errorf("posted: %d, a session: %v", r.status, web.session != nil)
		}
	}
	shows(t, p.initialize("2025-11-25", `{"experimental":{"x":{"y":"`+strings.Repeat("x", 60<<10)+`"}}}`), `"protocolVersion":"2025-11-25"`)
}
