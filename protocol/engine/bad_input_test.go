package engine_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/engine"
)

// TestBadInput sends what must not be sent: each gets its answer or silence, and
// the next correct call is answered.
func TestBadInput(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, frame string
		want        []string // nil: silence
	}{
		{"not JSON", `{"jsonrpc":`, []string{`-32700`}},
		{"bad UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"\xff\"}", []string{`-32700`, `"id":1`}},
		{"half of a character", `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"echo","arguments":{"x":"\ud83d"}}}`, []string{`-32700`, `"id":"a"`, `lone surrogate`}},
		{"too deep a request", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":` + strings.Repeat(`[`, 100) + strings.Repeat(`]`, 100) + `}}`, []string{`-32600`, `"id":1`}},
		{"half of a character in the id", `{"jsonrpc":"2.0","id":"\ud83d","method":"ping"}`, []string{`-32700`}},
		{"trailing data", `{"jsonrpc":"2.0","id":1,"method":"ping"} x`, []string{`-32700`}},
		{"too deep", strings.Repeat(`[`, 100) + strings.Repeat(`]`, 100), []string{`-32600`}},
		{"a number", `1`, []string{`-32600`}},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, []string{`-32600`}},
		{"an empty batch", `[]`, []string{`-32600`}},
		{"no version", `{"id":1,"method":"ping"}`, []string{`-32600`, `"id":1`}},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, []string{`-32600`}},
		{"float id", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, []string{`-32600`}},
		{"object id", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, []string{`-32600`}},
		{"method of a wrong type", `{"jsonrpc":"2.0","id":1,"method":7}`, []string{`-32600`}},
		{"params of a wrong type", `{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}`, []string{`-32600`}},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"tools/burn"}`, []string{`-32601`, `"id":1`}},
		{"a server's method", `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`, []string{`-32601`}},
		{"a notification's method", `{"jsonrpc":"2.0","id":1,"method":"notifications/cancelled"}`, []string{`-32601`}},
		{"a notification's method, params of a wrong shape", `{"jsonrpc":"2.0","id":1,"method":"notifications/cancelled","params":{"requestId":[]}}`, []string{`-32601`}},
		{"a server's notification", `{"jsonrpc":"2.0","id":1,"method":"notifications/message","params":{"level":7}}`, []string{`-32601`}},
		{"a capability that is not there", `{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`, []string{`-32601`}},
		{"second initialize", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, []string{`-32600`}},
		{"call without a name", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, []string{`-32602`, `"id":1`}},
		{"arguments of a wrong type", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":[1]}}`, []string{`-32602`}},
		{"unknown tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope"}}`, []string{`-32602`, `nope`}},
		{"unknown resource", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x://y"}}`, []string{`-32002`, `x://y`}},
		{"subscription to an unknown resource", `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"x://y"}}`, []string{`-32002`}},
		{"unknown level", `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"loud"}}`, []string{`-32602`}},
		{"bad cursor", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":""}}`, []string{`-32602`}},
		{"modern ping", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + modernMeta + `}}`, []string{`-32601`}},
		{"a subscription of a megabyte", `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},` + modernMeta + `}` + strings.Repeat(" ", 1<<20) + `}`, []string{`-32602`, `"id":1`, `more than`}},
		{"modern initialize", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{` + modernMeta + `}}`, []string{`-32601`}},
		{"modern without capabilities", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, []string{`-32602`, `clientCapabilities`}},
		{"unknown revision", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"v999","io.modelcontextprotocol/clientCapabilities":{}}}}`, []string{`-32022`, `"requested":"v999"`, `"supported":["2026-07-28"]`}},
		{"a handshake revision per request", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientCapabilities":{}}}}`, []string{`-32022`}},
		{"unknown notification", `{"jsonrpc":"2.0","method":"notifications/none"}`, nil},
		{"malformed notification", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}`, nil},
		{"cancellation of nothing", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`, nil},
		{"stray response", `{"jsonrpc":"2.0","id":77,"result":{}}`, nil},
		{"stray error", `{"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"x"}}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := connect(t, newEngine(t, catalog{"echo": echo}))
			p.initialize("2025-11-25", `{}`)
			if tt.want == nil {
				p.quiet(tt.frame)
			} else {
				answer := p.ask(tt.frame)
				shows(t, answer, `"error"`)
				shows(t, answer, tt.want...)
				shows(t, p.ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), `"id":1,"result"`) // the id is free
			}
			shows(t, p.ask(`{"jsonrpc":"2.0","id":"next","method":"tools/call","params":{"name":"echo"}}`), `"id":"next"`, `echoed`)
		})
	}
}

// TestNothingIsNothing sends what clients write for a thing that they have not got.
func TestNothingIsNothing(t *testing.T) {
	t.Parallel()
	named := catalog{"echo": func(_ context.Context, c *engine.Call) (protocol.Result, error) {
		return text("arguments " + string(c.Params.(*protocol.CallToolParams).Arguments)), nil
	}}
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		for _, capabilities := range []string{
			`[]`, `{"sampling":null}`, `{"roots":true}`, `{"experimental":{"notifications":true}}`, `{"experimental":[],"elicitation":false}`,
		} {
			p := connect(t, newEngine(t, named))
			shows(t, p.initialize(version, capabilities), `"protocolVersion":"`+version+`"`)
			for _, params := range []string{`,"params":null`, `,"params":[]`, `,"params":[ ]`, `,"params":{"_meta":null}`, `,"params":{"_meta":[]}`, ``} {
				shows(t, p.ask(`{"jsonrpc":"2.0","id":1,"method":"ping"`+params+`}`), `"result":{`)
				shows(t, p.ask(`{"jsonrpc":"2.0","id":2,"method":"tools/list"`+params+`}`), `"tools":[`)
			}
			for arguments, want := range map[string]string{`null`: `"arguments "`, `[]`: `"arguments {}"`, `{}`: `"arguments {}"`} {
				shows(t, p.ask(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","task":null,"_meta":{"progressToken":null},"arguments":`+arguments+`}}`), want)
			}
			shows(t, p.ask(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":null}`), `-32602`, `name is missing`)
			shows(t, p.ask(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":null}}`), `-32602`)
		}
	}
}

// TestNothingIsNothingWithoutSession is the same on 2026-07-28.
func TestNothingIsNothingWithoutSession(t *testing.T) {
	t.Parallel()
	p := connect(t, newEngine(t, catalog{"echo": echo}))
	for _, capabilities := range []string{
		`[]`, `{"sampling":null}`, `{"roots":true}`, `{"experimental":{"notifications":true}}`, `{"extensions":{"x":1}}`,
	} {
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":null,"io.modelcontextprotocol/logLevel":null,` +
			`"io.modelcontextprotocol/clientInfo":null,"io.modelcontextprotocol/clientCapabilities":` + capabilities + `}`
		for _, arguments := range []string{`null`, `[]`, `{}`} {
			shows(t, p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","inputResponses":null,"arguments":`+arguments+`,`+meta+`}}`), `echoed`)
		}
		shows(t, p.ask(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":null,`+meta+`}}`), `"tools":[`)
	}
}

// TestByteOrderMark is skipped before any frame.
func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	p := connect(t, newEngine(t, catalog{"echo": echo}))
	shows(t, p.ask("\ufeff"+`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`), `"id":1`, `"result"`)
	shows(t, p.ask("\ufeff"+`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{},`+modernMeta+`}}`), `echoed`)
	shows(t, p.ask("\ufeff\ufeff"+`{"jsonrpc":"2.0","id":3,"method":"ping"}`), `-32700`)
}

func echo(context.Context, *engine.Call) (protocol.Result, error) { return text("echoed"), nil }

func TestBeforeInitialize(t *testing.T) {
	t.Parallel()
	p := connect(t, newEngine(t, catalog{"echo": echo}))
	shows(t, p.ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), `"result":{}`)
	shows(t, p.ask(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`), `-32602`)
	p.quiet(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	shows(t, p.ask(`{"jsonrpc":"2.0","id":3,"method":"server/discover","params":{`+modernMeta+`}}`), `"supportedVersions":["2026-07-28"]`)
	shows(t, p.initialize("2026-07-28", `{}`), `"protocolVersion":"2025-11-25"`)
	shows(t, p.ask(`{"jsonrpc":"2.0","id":4,"method":"tools/list"}`), `"name":"echo"`)
}

func TestNegotiation(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "1999-01-01": "2025-11-25", "": "2025-11-25",
	} {
		p := connect(t, newEngine(t, catalog{}))
		shows(t, p.initialize(asked, `{}`), `"protocolVersion":"`+want+`"`)
	}
}

func TestPanicCostsItsOwnCall(t *testing.T) {
	t.Parallel()
	var reported []error
	e := engine.New(engine.Config{
		Info:    protocol.Implementation{Name: "s", Version: "1"},
		Catalog: catalog{"echo": echo, "boom": func(context.Context, *engine.Call) (protocol.Result, error) { panic("secret") }},
		Failed:  func(_ context.Context, _ *engine.Call, err error) { reported = append(reported, err) },
	})
	p := connect(t, e)
	p.initialize("2025-11-25", `{}`)
	answer := p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"boom"}}`)
	shows(t, answer, `-32603`, `"id":1`)
	if strings.Contains(answer, "secret") {
		t.Fatalf("the panic's text reached the client: %s", answer)
	}
	p.served.Wait()
	if len(reported) != 1 || !strings.Contains(reported[0].Error(), "secret") {
		t.Fatalf("reported %v", reported)
	}
	shows(t, p.ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}`), `echoed`)
}

func TestArgumentFaults(t *testing.T) {
	t.Parallel()
	refuse := func(context.Context, *engine.Call) (protocol.Result, error) {
		return nil, &protocol.Fault{
			Kind: protocol.FaultInvalidArguments, Message: "want a number", Data: map[string]any{"issues": []string{"/a"}},
		}
	}
	for version, want := range map[string]string{
		"2024-11-05": `"code":-32602`, "2025-06-18": `"code":-32602`, "2025-11-25": `"isError":true`,
	} {
		p := connect(t, newEngine(t, catalog{"refuse": refuse}))
		p.initialize(version, `{}`)
		shows(t, p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"refuse"}}`), want, `want a number`, `"issues":["/a"]`)
		shows(t, p.ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"refuse",`+modernMeta+`}}`), `"isError":true`)
	}
}

// TestRefusedFramesAreNotDecoded: the id of a refused frame is found without decoding its other members.
func TestRefusedFramesAreNotDecoded(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	p := connect(t, newEngine(t, catalog{}))
	frame := []byte(`{"jsonrpc":"2.0","id":7,"method":"ping"`)
	for i := range 400_000 {
		frame = fmt.Appendf(frame, `,"m%d":0`, i)
	}
	text := string(append(frame, '}'))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	shows(t, p.ask(text), `"id":7`, `too many elements`)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 3*uint64(len(text)) {
		t.Errorf("%d bytes for a frame of %d", n, len(text))
	}
}
