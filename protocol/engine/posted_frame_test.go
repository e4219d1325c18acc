package engine_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// site is an HTTP carrier reduced to what the engine sees of it: one session.
type site struct {
	t       testing.TB
	e       *engine.Engine
	session *transport.Connection
	names   string // what the request says about the session: "", "live", "gone"
}

func (s *site) Find() (*transport.Connection, error) {
	switch s.names {
	case "live":
		return s.session, nil
	case "gone":
		return nil, transport.ErrNoSession
	}
	return nil, nil
}

func (s *site) Open() (*transport.Connection, error) {
	out := transport.OutboundFunc(func(context.Context, transport.Frame) error { return nil })
	s.session = transport.ConnectionFrom(transport.Connect(s.t.Context(), transport.Peer{Out: out}))
	return s.session, nil
}

// reply is what came out of one POST.
type reply struct {
	status    int // 0: no answer
	challenge string
	frames    []string
	plan      transport.Plan
}

// post sends one frame; header lines are "Name: value".
func (s *site) post(frame string, header ...string) reply {
	s.t.Helper()
	f := transport.HeaderFields{}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ":")
		http.Header(f).Add(name, strings.TrimPrefix(value, " "))
	}
	ctx := transport.WithRequest(s.t.Context(), &transport.Request{Fields: f, Sessions: s})
	x, err := s.e.Accept(ctx, []byte(frame))
	if err != nil {
		s.t.Fatal(err)
	}
	planned, ok := x.(transport.Planned)
	if !ok {
		s.t.Fatalf("%T has no plan", x)
	}
	r := reply{plan: planned.Plan()}
	err = x.Serve(ctx, transport.OutboundFunc(func(_ context.Context, frame transport.Frame) error {
		if frame.Final {
			if r.status != 0 {
				s.t.Errorf("two answers: %s", frame.JSON)
			}
			r.status, r.challenge = cmp.Or(frame.Status, http.StatusOK), frame.Challenge
		}
		r.frames = append(r.frames, string(frame.JSON))
		return nil
	}))
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// mirrored is a catalog whose tool "echo" repeats arguments in headers.
type mirrored struct{ catalog }

func (m mirrored) Snapshot() engine.Snapshot { return m }

func (m mirrored) Mirrors(tool string) []dialect.Mirror {
	if tool != "echo" {
		return nil
	}
	return []dialect.Mirror{
		{Header: "Mcp-Param-Region", Path: []string{"region"}},
		{Header: "Mcp-Param-N", Path: []string{"deep", "n"}, Integer: true},
	}
}

func newSite(t testing.TB, session string) *site {
	t.Helper()
	lacking := func(context.Context, *engine.Call) (protocol.Result, error) {
		return nil, &protocol.Fault{Kind: protocol.FaultMissingCapability, Message: "needs sampling", Required: &protocol.ClientCapabilities{Sampling: true}}
	}
	k := mirrored{catalog{"echo": echo, "lacking": lacking}}
	s := &site{t: t, e: engine.New(engine.Config{Info: protocol.Implementation{Name: "s", Version: "1"}, Catalog: k})}
	if session == "" {
		return s
	}
	r := s.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + session +
		`","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	if r.status != http.StatusOK || s.session == nil {
		t.Fatalf("initialize: %+v", r)
	}
	s.names = "live"
	return s
}

func modern(method, params string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + modernMeta + params + `}}`
}

const (
	v26  = "MCP-Protocol-Version: 2026-07-28"
	v25  = "MCP-Protocol-Version: 2025-11-25"
	v999 = "MCP-Protocol-Version: v999"
)

// TestPosted is the classification of a POST by body, header and session, with the
// HTTP status of the answer: spec.md of the five revisions, row by row.
func TestPosted(t *testing.T) {
	t.Parallel()
	list := []string{v26, "Mcp-Method: tools/list"}
	call := []string{v26, "Mcp-Method: tools/call", "Mcp-Name: echo"}
	initialize := `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	legacyList := `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`
	tests := []struct {
		name    string
		session string // revision of the live session, if any
		names   string // overrides which session the request names
		frame   string
		header  []string
		status  int
		want    string // a part of the answer
	}{
		{name: "modern list", frame: modern("tools/list", ""), header: list, status: 200, want: `"resultType"`},
		{name: "modern beside a session", session: "2025-11-25", frame: modern("tools/list", ""), header: list, status: 200, want: `"resultType"`},
		{name: "modern with a dead session", names: "gone", frame: modern("tools/list", ""), header: list, status: 200, want: `"resultType"`},
		{name: "version header missing", frame: modern("tools/list", ""), header: []string{"Mcp-Method: tools/list"}, status: 400, want: `-32020,"message":"Mcp-Protocol-Version is missing: it must repeat the protocolVersion in the body`},
		{name: "version header repeated", frame: modern("tools/list", ""), header: append([]string{v26}, list...), status: 400, want: `-32020`},
		{name: "header and body differ", frame: strings.Replace(modern("tools/list", ""), "2026-07-28", "v999", 1), header: list, status: 400, want: `-32020`},
		{name: "both unknown", frame: strings.Replace(modern("tools/list", ""), "2026-07-28", "v999", 1), header: []string{v999}, status: 400, want: `"requested":"v999"`},
		{name: "both a handshake revision", frame: strings.Replace(modern("tools/list", ""), "2026-07-28", "2025-11-25", 1), header: []string{v25}, status: 400, want: `-32022`},
		{name: "no meta", frame: `{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{}}`, header: []string{v26, "Mcp-Method: server/discover"}, status: 400, want: `-32602`},
		{name: "no params", frame: `{"jsonrpc":"2.0","id":7,"method":"server/discover"}`, header: []string{v26, "Mcp-Method: server/discover"}, status: 400, want: `-32602`},
		{name: "no version in meta", frame: `{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}}`, header: []string{v26, "Mcp-Method: server/discover"}, status: 400, want: `-32602`},
		{name: "no capabilities in meta", frame: `{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, header: []string{v26, "Mcp-Method: server/discover"}, status: 400, want: `-32602`},
		{name: "method header missing", frame: modern("tools/list", ""), header: []string{v26}, status: 400, want: `-32020,"message":"Mcp-Method is missing: it must repeat the method in the body`},
		{name: "method header differs", frame: modern("tools/list", ""), header: []string{v26, "Mcp-Method: tools/call"}, status: 400, want: `-32020,"message":"Mcp-Method does not repeat the method in the body`},
		{name: "method header of another case", frame: modern("tools/list", ""), header: []string{v26, "Mcp-Method: TOOLS/LIST"}, status: 400, want: `-32020`},
		{name: "method header repeated", frame: modern("tools/list", ""), header: append([]string{"Mcp-Method: tools/list"}, list...), status: 400, want: `-32020,"message":"Mcp-Method is there 2 times`},
		{name: "header name of another case", frame: modern("tools/list", ""), header: []string{v26, "mcp-method: tools/list"}, status: 200, want: `"tools"`},
		{name: "unknown method", frame: modern("unknown/method", ""), header: []string{v26, "Mcp-Method: unknown/method"}, status: 404, want: `-32601`},
		{name: "unadvertised method", frame: modern("prompts/list", ""), header: []string{v26, "Mcp-Method: prompts/list"}, status: 404, want: `-32601`},
		{name: "modern initialize", frame: modern("initialize", ""), header: []string{v26, "Mcp-Method: initialize"}, status: 404, want: `-32601`},
		{name: "modern ping", frame: modern("ping", ""), header: []string{v26, "Mcp-Method: ping"}, status: 404, want: `-32601`},
		{name: "modern setLevel", frame: modern("logging/setLevel", `,"level":"info"`), header: []string{v26, "Mcp-Method: logging/setLevel"}, status: 404, want: `-32601`},
		{name: "mismatch before method not found", frame: modern("unknown/method", ""), header: list, status: 400, want: `-32020`},
		{name: "name header", frame: modern("tools/call", `,"name":"echo"`), header: call, status: 200, want: `"content"`},
		{name: "name header padded", frame: modern("tools/call", `,"name":"echo"`), header: []string{v26, "Mcp-Method: tools/call", "Mcp-Name:   echo  "}, status: 200, want: `"content"`},
		{name: "name header encoded", frame: modern("tools/call", `,"name":"echo"`), header: []string{v26, "Mcp-Method: tools/call", "Mcp-Name: =?base64?ZWNobw==?="}, status: 200, want: `"content"`},
		{name: "name header badly encoded", frame: modern("tools/call", `,"name":"echo"`), header: []string{v26, "Mcp-Method: tools/call", "Mcp-Name: =?base64?ZWNobw?="}, status: 400, want: `-32020`},
		{name: "name header missing", frame: modern("tools/call", `,"name":"echo"`), header: call[:2], status: 400, want: `-32020,"message":"Mcp-Name is missing: it must repeat the name in the body`},
		{name: "name header differs", frame: modern("tools/call", `,"name":"lacking"`), header: call, status: 400, want: `-32020`},
		{name: "uri as name", frame: modern("resources/read", `,"uri":"test://r"`), header: []string{v26, "Mcp-Method: resources/read", "Mcp-Name: test://r"}, status: 200, want: `"contents"`},
		{name: "argument repeated", frame: modern("tools/call", `,"name":"echo","arguments":{"region":"eu","deep":{"n":42}}`), header: append([]string{"Mcp-Param-Region: eu", "Mcp-Param-N: 42.0"}, call...), status: 200, want: `"content"`},
		{name: "argument header missing", frame: modern("tools/call", `,"name":"echo","arguments":{"region":"eu"}`), header: call, status: 400, want: `Mcp-Param-Region`},
		{name: "argument header differs", frame: modern("tools/call", `,"name":"echo","arguments":{"region":"eu"}`), header: append([]string{"Mcp-Param-Region: us"}, call...), status: 400, want: `-32020`},
		{name: "argument header repeated", frame: modern("tools/call", `,"name":"echo","arguments":{"region":"eu"}`), header: append([]string{"Mcp-Param-Region: eu", "Mcp-Param-Region: eu"}, call...), status: 400, want: `-32020`},
		{name: "argument null", frame: modern("tools/call", `,"name":"echo","arguments":{"region":null}`), header: call, status: 200, want: `"content"`},
		{name: "argument absent, header there", frame: modern("tools/call", `,"name":"echo","arguments":{}`), header: append([]string{"Mcp-Param-Region: eu"}, call...), status: 400, want: `-32020`},
		{name: "arguments in a text, header missing", frame: modern("tools/call", `,"name":"echo","arguments":"{\"region\":\"eu\"}"`), header: call, status: 400, want: `Mcp-Param-Region`},
		{name: "arguments in a text", frame: modern("tools/call", `,"name":"echo","arguments":"{\"region\":\"eu\"}"`), header: append([]string{"Mcp-Param-Region: eu"}, call...), status: 200, want: `"content"`},
		{name: "argument in a text inside, header missing", frame: modern("tools/call", `,"name":"echo","arguments":{"deep":"{\"n\":42}"}`), header: call, status: 400, want: `Mcp-Param-N`},
		{name: "empty argument", frame: modern("tools/call", `,"name":"echo","arguments":{"region":""}`), header: append([]string{"Mcp-Param-Region:"}, call...), status: 200, want: `"content"`},
		{name: "capability missing", frame: modern("tools/call", `,"name":"lacking"`), header: []string{v26, "Mcp-Method: tools/call", "Mcp-Name: lacking"}, status: 400, want: `-32021`},
		{name: "unknown tool", frame: modern("tools/call", `,"name":"nope"`), header: []string{v26, "Mcp-Method: tools/call", "Mcp-Name: nope"}, status: 200, want: `-32602`},

		{name: "batch of the modern version", frame: "[" + modern("tools/list", "") + "]", header: list, status: 400, want: `batches are not part of this revision`},
		{name: "batch of the modern version in a session", session: "2025-03-26", frame: "[" + modern("tools/list", "") + "]", header: list, status: 400, want: `batches are not part of this revision`},
		{name: "batch of an unknown version", frame: "[" + modern("tools/list", "") + "]", header: []string{v999}, status: 400, want: `unknown Mcp-Protocol-Version`},

		{name: "session", session: "2025-11-25", frame: legacyList, header: []string{v25}, status: 200, want: `"tools"`},
		{name: "session without version", session: "2025-06-18", frame: legacyList, status: 200, want: `"tools"`},
		{name: "session with another version", session: "2025-11-25", frame: legacyList, header: []string{"MCP-Protocol-Version: 2025-03-26"}, status: 200, want: `"tools"`},
		{name: "session with an unknown version", session: "2025-11-25", frame: legacyList, header: []string{v999}, status: 400, want: `-32600`},
		{name: "session with an empty version", session: "2025-11-25", frame: legacyList, header: []string{"MCP-Protocol-Version: "}, status: 400, want: `-32600`},
		{name: "session with the modern version", session: "2025-11-25", frame: legacyList, header: []string{v26}, status: 400, want: `-32602`},
		{name: "unknown method in a session is not 404", session: "2025-11-25", frame: `{"jsonrpc":"2.0","id":7,"method":"x/y"}`, status: 200, want: `-32601`},
		{name: "dead session", session: "2025-11-25", names: "gone", frame: legacyList, status: 404, want: `"error"`},
		{name: "no session", frame: legacyList, header: []string{v25}, status: 400, want: `-32602`},
		{name: "ping without session", frame: `{"jsonrpc":"2.0","id":7,"method":"ping"}`, status: 400, want: `"error"`},
		{name: "initialize", frame: initialize, status: 200, want: `"protocolVersion":"2025-11-25"`},
		{name: "initialize with its version", frame: initialize, header: []string{v25, "Mcp-Method: initialize"}, status: 200, want: `"protocolVersion"`},
		{name: "initialize with the modern version", frame: initialize, header: []string{v26, "Mcp-Method: initialize"}, status: 400, want: `-32020`},
		{name: "initialize asks for the modern version", frame: strings.Replace(initialize, "2025-11-25", "2026-07-28", 1), status: 200, want: `"protocolVersion":"2025-11-25"`},
		{name: "initialize again", session: "2025-11-25", frame: initialize, status: 400, want: `-32600`},
		{name: "initialize in a dead session", names: "gone", frame: initialize, status: 404, want: `"error"`},
		{name: "malformed initialize", frame: `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}`, status: 400, want: `-32602`},

		{name: "not JSON", frame: `{`, status: 400, want: `-32700`},
		{name: "not JSON-RPC", frame: `{"id":7,"method":"ping"}`, status: 400, want: `-32600`},
		{name: "batch without session", frame: `[` + legacyList + `]`, status: 400, want: `"error"`},
		{name: "batch of a revision without", session: "2025-06-18", frame: `[` + legacyList + `]`, status: 400, want: `-32600`},
		{name: "batch", session: "2025-03-26", frame: `[` + legacyList + `,{"jsonrpc":"2.0","id":8,"method":"ping"}]`, status: 200, want: `[{`},
		{name: "empty batch", session: "2025-03-26", frame: `[]`, status: 400, want: `-32600`},
		{name: "batch with the modern version", session: "2025-03-26", frame: `[` + legacyList + `]`, header: []string{v26}, status: 400, want: `-32600`},

		{name: "notification", session: "2025-11-25", frame: `{"jsonrpc":"2.0","method":"notifications/initialized"}`},
		{name: "modern notification", frame: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, header: []string{v26}},
		{name: "notification in a dead session", names: "gone", frame: `{"jsonrpc":"2.0","method":"notifications/initialized"}`, status: 404, want: `"error"`},
		{name: "notification without session", frame: `{"jsonrpc":"2.0","method":"notifications/initialized"}`, status: 400, want: `"error"`},
		{name: "malformed notification", session: "2025-11-25", frame: `{"jsonrpc":"2.0","method":1}`, status: 400, want: `-32600`},
		{name: "response", session: "2025-11-25", frame: `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{name: "response in a dead session", names: "gone", frame: `{"jsonrpc":"2.0","id":1,"result":{}}`, status: 404, want: `"error"`},
		{name: "batch of notifications", session: "2025-03-26", frame: `[{"jsonrpc":"2.0","method":"notifications/initialized"}]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, tt.session)
			if tt.names != "" {
				s.names = tt.names
			}
			r := s.post(tt.frame, tt.header...)
			if r.status != tt.status || r.plan.Answered != (tt.status != 0) {
				t.Fatalf("status %d, want %d: %+v", r.status, tt.status, r)
			}
			if tt.want != "" {
				shows(t, r.frames[len(r.frames)-1], tt.want)
			}
			if tt.status >= 400 && strings.Contains(tt.frame, `"id":7`) && !strings.HasPrefix(tt.frame, "[") && strings.Contains(tt.frame, "2.0") {
				shows(t, r.frames[0], `"id":7`)
			}
		})
	}
}

// TestPlans checks that the plan that the carrier gets follows the revision.
func TestPlans(t *testing.T) {
	t.Parallel()
	for revision, want := range map[string]transport.Plan{
		"2024-11-05": {Answered: true},
		"2025-03-26": {Answered: true, Resumable: true},
		"2025-06-18": {Answered: true, Resumable: true},
		"2025-11-25": {Answered: true, Resumable: true, Polls: true},
	} {
		if got := newSite(t, revision).post(`{"jsonrpc":"2.0","id":7,"method":"ping"}`).plan; got != want {
			t.Errorf("%s: %+v, want %+v", revision, got, want)
		}
	}
	want := transport.Plan{Answered: true, CancelByClose: true}
	if got := newSite(t, "").post(modern("tools/list", ""), v26, "Mcp-Method: tools/list").plan; got != want {
		t.Errorf("2026-07-28: %+v, want %+v", got, want)
	}
}

// TestPostedStateIsDropped: an exchange without session leaves nothing behind, and
// is cancelled by Shutdown while it runs.
func TestPostedStateIsDropped(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	block := func(ctx context.Context, _ *engine.Call) (protocol.Result, error) {
		close(entered)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s := &site{t: t, e: newEngine(t, catalog{"block": block})}
	done := make(chan reply)
	go func() {
		done <- s.post(modern("tools/call", `,"name":"block"`), v26, "Mcp-Method: tools/call", "Mcp-Name: block")
	}()
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.e.Shutdown(ctx); err == nil {
		t.Error("Shutdown says that nothing had to be cancelled")
	}
	if r := <-done; r.status != http.StatusOK || !strings.Contains(r.frames[0], "shutting down") {
		t.Errorf("%+v", r)
	}
	select {
	case <-s.e.Closing():
	default:
		t.Error("Closing is open")
	}
}

// TestForbidden: a handler that refuses its caller is answered with a status that refuses,
// whatever it says.
func TestForbidden(t *testing.T) {
	t.Parallel()
	for said, want := range map[int]int{0: 401, 200: 401, 403: 403, 9999: 401} {
		forbid := func(context.Context, *engine.Call) (protocol.Result, error) {
			return nil, &transport.AuthError{Status: said}
		}
		s := &site{t: t, e: newEngine(t, catalog{"forbid": forbid})}
		r := s.post(modern("tools/call", `,"name":"forbid"`), v26, "Mcp-Method: tools/call", "Mcp-Name: forbid")
		if r.status != want || len(r.frames) != 1 || !strings.Contains(r.frames[0], http.StatusText(want)) {
			t.Errorf("AuthError with status %d: %d %s", said, r.status, r.frames)
		}
	}
}

// TestPostedMalformedResponse: it is accepted as a response that contains an error, and is not answered.
func TestPostedMalformedResponse(t *testing.T) {
	t.Parallel()
	r := newSite(t, "2025-11-25").post(`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}`)
	if r.status != 0 || len(r.frames) != 0 { // the carrier answers 202
		t.Errorf("%d %s", r.status, r.frames)
	}
}

// TestRefusedPostedResponse: its refusal does not have its id, because the client may have a request with it.
func TestRefusedPostedResponse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		names, frame string
		status       int
	}{
		"without a name": {"", `{"jsonrpc":"2.0","id":1,"result":{}}`, http.StatusBadRequest},
		"ended session":  {"gone", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`, http.StatusNotFound},
	} {
		s := newSite(t, "2025-11-25")
		s.names = tt.names
		r := s.post(tt.frame)
		if r.status != tt.status || len(r.frames) != 1 || strings.Contains(r.frames[0], `"id":1`) {
			t.Errorf("%s: %d %s", name, r.status, r.frames)
		}
	}
}

// TestForbiddenBatch checks that a batch is refused, with all challenges, if each of its requests
// is refused. Otherwise the status is 200, the answers contain the refusals, and the challenges are
// in the header.
func TestForbiddenBatch(t *testing.T) {
	t.Parallel()
	forbid := func(challenge string) handler {
		return func(context.Context, *engine.Call) (protocol.Result, error) {
			return nil, &transport.AuthError{Status: http.StatusForbidden, Challenge: challenge}
		}
	}
	const (
		ping  = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		one   = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one"}}`
		two   = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"two"}}`
		again = `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"two"}}`
	)
	s := &site{t: t, e: newEngine(t, catalog{"one": forbid("Bearer a"), "two": forbid("Bearer b")})}
	s.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	s.names = "live"
	for frame, want := range map[string]reply{
		two + "," + one + "," + again: {status: http.StatusForbidden, challenge: "Bearer a, Bearer b"},
		one + "," + ping:              {status: http.StatusOK, challenge: "Bearer a"},
		ping + "," + one:              {status: http.StatusOK, challenge: "Bearer a"},
		ping:                          {status: http.StatusOK},
	} {
		if r := s.post("[" + frame + "]"); r.status != want.status || r.challenge != want.challenge {
			t.Errorf("%s: %d %q, want %d %q", frame, r.status, r.challenge, want.status, want.challenge)
		}
	}
}

// TestBatchSizeIsBounded checks that a batch is refused at once if it has more messages than
// may be in flight.
func TestBatchSizeIsBounded(t *testing.T) {
	t.Parallel()
	p := connect(t, engine.New(engine.Config{Info: protocol.Implementation{Name: "s", Version: "1"}, Catalog: catalog{}, MaxInFlight: 2}))
	p.initialize("2025-03-26", `{}`)
	const ping = `{"jsonrpc":"2.0","id":"x","method":"ping"}`
	shows(t, p.ask("["+ping+","+ping+"]"), `"result"`)
	shows(t, p.ask("["+ping+","+ping+","+ping+"]"), `-32600`, `the batch is too large`)
}

// TestProgressIsANumber checks that a progress which JSON cannot represent is not sent, and that
// such a total is left out.
func TestProgressIsANumber(t *testing.T) {
	t.Parallel()
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1)}
	p := connect(t, newEngine(t, catalog{"odd": handler(func(ctx context.Context, c *engine.Call) (protocol.Result, error) {
		for i, f := range odd {
			c.Progress(ctx, f, nil, "")
			c.Progress(ctx, float64(i), &f, "")
		}
		return text("done"), nil
	})}))
	p.initialize("2025-11-25", `{}`)
	p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"odd","_meta":{"progressToken":"t"}}}`)
	for i := range odd {
		frame := p.next()
		if shows(t, frame, fmt.Sprintf(`"progress":%d`, i)); strings.Contains(frame, "total") {
			t.Errorf("%s has a total", frame)
		}
	}
	shows(t, p.next(), `"id":2`, `done`)
}
