package dialect_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

func TestDecodeParamsRefuses(t *testing.T) {
	t.Parallel()
	all := protocol.Revisions()
	handshake := []protocol.Revision{revA, revB, revC, revD}
	for _, c := range []struct {
		revs           []protocol.Revision
		method, params string
		want           string
	}{
		{all, "tools/call", ``, "params.name is missing"},
		{all, "tools/call", `{}`, "params.name is missing"},
		{all, "tools/call", `[1]`, "params must be an object"},
		{all, "tools/call", `{"Name":"x"}`, "params.name is missing"},
		{all, "tools/call", `{"name":1}`, "params.name must be a string"},
		{all, "tools/call", `{"name":"x","arguments":[1]}`, "params.arguments must be an object"},
		{all, "tools/call", `{"name":"x","name":"x"}`, "params.name is repeated"},
		{all, "tools/call", `{"name":"x","a":1,"a":1}`, "params.a is repeated"},
		{all, "tools/call", `{"name":"x","_meta":{},"_meta":{}}`, "params._meta is repeated"},
		{all, "tools/call", `{"name":"x","n\u0061me":"x"}`, "params.name is repeated"},
		{[]protocol.Revision{revD}, "tools/call", `{"name":"x","task":1}`, "params.task must be an object"},
		{[]protocol.Revision{revD}, "tools/call", `{"name":"x","task":{"ttl":"1"}}`, "params.task.ttl must be an integer"},
		{[]protocol.Revision{revE}, "tools/call", `{"name":"x","inputResponses":[1]}`, "params.inputResponses must be an object"},
		{[]protocol.Revision{revE}, "tools/call", `{"name":"x","inputResponses":{"a b":1}}`, `params.inputResponses["a b"] must be an object`},
		{[]protocol.Revision{revE}, "tools/call", `{"name":"x","inputResponses":{"a":{},"a":{}}}`, "params.inputResponses.a is repeated"},
		{[]protocol.Revision{revE}, "resources/read", `{"uri":"x","requestState":1}`, "params.requestState must be a string"},
		{all, "prompts/get", `{"name":"x","arguments":{"count":3}}`, "params.arguments.count must be a string"},
		{all, "prompts/get", `{"name":"x","arguments":{"a":"1","a":"2"}}`, "params.arguments.a is repeated"},
		{all, "prompts/get", `{"name":"x","arguments":{"a":null,"a":"1"}}`, "params.arguments.a is repeated"},
		{all, "tools/list", `{"cursor":1}`, "params.cursor must be a string"},
		{all, "completion/complete", `{"ref":{"type":"ref/tool"},"argument":{"name":"a","value":""}}`, `params.ref.type must be one of "ref/prompt"`},
		{all, "completion/complete", `{"ref":{"type":"ref/prompt"},"argument":{"name":"a","value":""}}`, "params.ref.name is missing"},
		{all, "completion/complete", `{"ref":{"type":"ref/resource"},"argument":{"name":"a","value":""}}`, "params.ref.uri is missing"},
		{all, "completion/complete", `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a"}}`, "params.argument.value is missing"},
		{
			[]protocol.Revision{revC, revD, revE},
			"completion/complete",
			`{"ref":{"type":"ref/prompt","name":"p","title":7},"argument":{"name":"a","value":""}}`,
			"params.ref.title must be a string",
		},
		{
			[]protocol.Revision{revC, revD, revE},
			"completion/complete",
			`{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""},"context":{"arguments":{"n":1}}}`,
			"params.context.arguments.n must be a string",
		},
		{handshake, "logging/setLevel", `{"level":"verbose"}`, `params.level must be one of "debug", "info"`},
		{handshake, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{}}`, "params.clientInfo is missing"},
		{handshake, "initialize", `{"capabilities":{},"clientInfo":{"name":"x","version":"1"}}`, "params.protocolVersion is missing"},
		{[]protocol.Revision{revA, revB, revC, revE}, "notifications/cancelled", `{"reason":"x"}`, "params.requestId is missing"},
		{all, "notifications/cancelled", `{"requestId":[]}`, "params.requestId must be a string or an integer"},
		{all, "notifications/progress", `{"progressToken":true,"progress":1}`, "params.progressToken must be a string or an integer"},
		{all, "notifications/progress", `{"progressToken":1,"progress":"1"}`, "params.progress must be a number"},
		{[]protocol.Revision{revE}, "subscriptions/listen", `{}`, "params.notifications is missing"},
		{[]protocol.Revision{revE}, "subscriptions/listen", `{"notifications":{"toolsListChanged":1}}`, "toolsListChanged must be true or false"},
		{[]protocol.Revision{revE}, "subscriptions/listen", `{"notifications":{"resourceSubscriptions":["a",2]}}`, "resourceSubscriptions[1] must be a string"},
		{[]protocol.Revision{revC, revD}, "elicitation/create", `{"message":"x"}`, "params.requestedSchema is missing"},
		{[]protocol.Revision{revD}, "elicitation/create", `{"mode":"voice","message":"x"}`, `params.mode must be one of "form", "url"`},
		{[]protocol.Revision{revD}, "elicitation/create", `{"mode":"url","message":"x","url":"https://a"}`, "params.elicitationId is missing"},
		{[]protocol.Revision{revD}, "elicitation/create", `{"mode":"url","message":"x","elicitationId":"1"}`, "params.url is missing"},
		{handshake, "sampling/createMessage", `{"messages":[{"role":"system","content":{"type":"text","text":""}}],"maxTokens":1}`, "params.messages[0].role must be one of"},
		{handshake, "sampling/createMessage", `{"messages":[{"role":"user","content":{"type":"text"}}],"maxTokens":1}`, "params.messages[0].content.text is missing"},
		{handshake, "sampling/createMessage", `{"messages":[],"maxTokens":1.5}`, "params.maxTokens must be an integer"},
		{handshake, "sampling/createMessage", `{"messages":[{"role":"user","content":{"type":"resource_link","uri":"a","name":"b"}}],"maxTokens":1}`, "content.type cannot stand here"},
		{handshake, "sampling/createMessage", `{"messages":[{"role":"user","content":{"type":"image","data":"a","mimeType":"b"}}],"maxTokens":1}`, "content.data must be base64"},
		{[]protocol.Revision{revA, revB, revC}, "sampling/createMessage", `{"messages":[{"role":"user","content":[]}],"maxTokens":1}`, "content must be an object"},
		{[]protocol.Revision{revD, revE}, "tasks/get", `{"taskId":7}`, "params.taskId must be a string"},
		{[]protocol.Revision{revE}, "tasks/update", `{"taskId":"7"}`, "params.inputResponses is missing"},
		{all, "vendor/run", `{"a":1,"a":2}`, "params.a is repeated"},
		{all, "vendor/run", `7`, "params must be an object"},
	} {
		for _, rev := range c.revs {
			p, fault := dialect.Of(rev).DecodeParams(c.method, []byte(c.params))
			if c.params == "" {
				p, fault = dialect.Of(rev).DecodeParams(c.method, nil)
			}
			switch {
			case fault == nil:
				t.Errorf("%s %s %s was accepted as %+v", rev, c.method, c.params, p)
			case fault.Kind != protocol.FaultInvalidParams || !strings.Contains(fault.Message, c.want):
				t.Errorf("%s %s %s: fault %q, want %q", rev, c.method, c.params, fault.Message, c.want)
			}
		}
	}
}

func TestDecodeParamsAccepts(t *testing.T) {
	t.Parallel()
	all := protocol.Revisions()
	for _, c := range []struct {
		revs           []protocol.Revision
		method, params string
		want           protocol.Params
	}{
		{all, "tools/call", `{"name":"x"}`, &protocol.CallToolParams{Name: "x"}},
		{all, "tools/call", `{"name":"x","arguments":{}}`, &protocol.CallToolParams{Name: "x", Arguments: []byte("{}")}},
		{all, "tools/call", `{"name":"x","arguments":{"a":1,"a":2}}`, &protocol.CallToolParams{Name: "x", Arguments: []byte(`{"a":1,"a":2}`)}},
		{all, "tools/call", `{"name":"x","NAME":1,"future":[]}`, &protocol.CallToolParams{Name: "x"}},
		{[]protocol.Revision{revA, revB, revC, revE}, "tools/call", `{"name":"x","task":7}`, &protocol.CallToolParams{Name: "x"}},
		{[]protocol.Revision{revD}, "tools/call", `{"name":"x","task":{}}`, &protocol.CallToolParams{Name: "x", Task: &protocol.TaskRequest{}}},
		{[]protocol.Revision{revA, revB, revC, revD}, "tools/call", `{"name":"x","inputResponses":7,"requestState":7}`, &protocol.CallToolParams{Name: "x"}},
		{all, "tools/call", `{"name":"x","arguments":null}`, &protocol.CallToolParams{Name: "x"}},
		{all, "prompts/get", `{"name":"x","arguments":null}`, &protocol.GetPromptParams{Name: "x"}},
		{
			all, "prompts/get", `{"name":"x","arguments":{"a":null,"b":"1","\u0063":null}}`,
			&protocol.GetPromptParams{Name: "x", Arguments: map[string]string{"b": "1"}},
		},
		{all, "tools/list", `{"cursor":null}`, &protocol.ListParams{Kind: protocol.ListTools}},
		{
			all, "completion/complete", `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""},"context":{"arguments":null}}`,
			&protocol.CompleteParams{Prompt: "p", Argument: "a"},
		},
		{
			all, "completion/complete", `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""},"context":null}`,
			&protocol.CompleteParams{Prompt: "p", Argument: "a"},
		},
		{all, "tools/list", `{}`, &protocol.ListParams{Kind: protocol.ListTools}},
		{all, "tools/list", `{"cursor":""}`, &protocol.ListParams{Kind: protocol.ListTools, Cursor: new("")}},
		{all, "prompts/list", ``, &protocol.ListParams{Kind: protocol.ListPrompts}},
		{
			[]protocol.Revision{revE},
			"subscriptions/listen",
			`{"notifications":{"toolsListChanged":false,"future":1,"promptsListChanged":true}}`,
			&protocol.ListenParams{Filter: protocol.SubscriptionFilter{Prompts: true}},
		},
		{
			[]protocol.Revision{revC, revD, revE},
			"completion/complete",
			`{"ref":{"type":"ref/prompt","name":"p","title":"P"},"argument":{"name":"a","value":""}}`,
			&protocol.CompleteParams{Prompt: "p", Title: "P", Argument: "a"},
		},
		{
			[]protocol.Revision{revA, revB},
			"completion/complete",
			`{"ref":{"type":"ref/prompt","name":"p","title":7},"argument":{"name":"a","value":""}}`,
			&protocol.CompleteParams{Prompt: "p", Argument: "a"},
		},
		{
			[]protocol.Revision{revA, revB},
			"completion/complete",
			`{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""},"context":7}`,
			&protocol.CompleteParams{Prompt: "p", Argument: "a"},
		},
		{[]protocol.Revision{revD}, "notifications/cancelled", `{}`, &protocol.CancelledParams{}},
		{[]protocol.Revision{revC}, "elicitation/create", `{"mode":"url","message":"m","requestedSchema":{}}`, &protocol.ElicitParams{Message: "m", Schema: []byte("{}")}},
		{all, "vendor/run", `{"a":1}`, &protocol.CustomParams{Name: "vendor/run", Raw: []byte(`{"a":1}`)}},
		{[]protocol.Revision{revE}, "initialize", `{}`, &protocol.CustomParams{Name: "initialize", Raw: []byte(`{}`)}},
		{[]protocol.Revision{revA}, "elicitation/create", ``, &protocol.CustomParams{Name: "elicitation/create"}},
	} {
		for _, rev := range c.revs {
			var params []byte
			if c.params != "" {
				params = []byte(c.params)
			}
			p, fault := dialect.Of(rev).DecodeParams(c.method, params)
			if fault != nil {
				t.Errorf("%s %s %s: %v", rev, c.method, c.params, fault)
			} else if !reflect.DeepEqual(p, c.want) {
				t.Errorf("%s %s %s = %+v, want %+v", rev, c.method, c.params, p, c.want)
			}
		}
	}
}

// What a capability means depends on the version that will be negotiated, not
// on the dialect that happens to read the request.
func TestInitializeReadsCapabilitiesOfNegotiatedRevision(t *testing.T) {
	t.Parallel()
	for version, form := range map[string]bool{"2025-06-18": true, "2025-11-25": false, "2026-07-28": false, "x": false} {
		for _, d := range dialect.All()[:4] {
			p, fault := d.DecodeParams("initialize", []byte(`{"protocolVersion":"`+version+
				`","capabilities":{"elicitation":{"url":{}}},"clientInfo":{"name":"x","version":"1"}}`))
			if fault != nil {
				t.Fatal(fault)
			}
			c := p.(*protocol.InitializeParams).Capabilities
			if c.Elicitation != form || c.ElicitURL == form {
				t.Errorf("%s read by %s: %+v", version, d, c)
			}
		}
	}
}

// TestInitializeReadsTheClientOfNegotiatedRevision: a member that the revision lacks is ignored.
func TestInitializeReadsTheClientOfNegotiatedRevision(t *testing.T) {
	t.Parallel()
	for version, ignored := range map[string]bool{
		"2024-11-05": true, "2025-03-26": true, "2025-06-18": true, "2025-11-25": false, "x": false,
	} {
		for _, d := range dialect.All()[:4] {
			_, fault := d.DecodeParams("initialize", []byte(`{"protocolVersion":"`+version+
				`","capabilities":{},"clientInfo":{"name":"x","version":"1","icons":{}}}`))
			if ignored != (fault == nil) {
				t.Errorf("%s read by %s: %v", version, d, fault)
			}
		}
	}
}

func TestDecodeResult(t *testing.T) {
	t.Parallel()
	all := protocol.Revisions()
	for _, c := range []struct {
		revs           []protocol.Revision
		method, result string
		want           protocol.Result
		fault          string
	}{
		{all, "tools/call", `{"content":[]}`, &protocol.CallToolResult{Content: []protocol.Block{}}, ""},
		{all, "tools/call", `{}`, nil, "result.content is missing"},
		{all, "tools/call", `[1]`, nil, "result must be an object"},
		{
			all, "tools/call", `{"content":[{"type":"hologram","x":[1]}]}`,
			&protocol.CallToolResult{Content: []protocol.Block{protocol.Unknown{Type: "hologram", Raw: []byte(`{"type":"hologram","x":[1]}`)}}}, "",
		},
		{all, "tools/call", `{"content":[7]}`, nil, "result.content[0] must be an object"},
		{all, "tools/call", `{"content":[{"type":"text"}]}`, nil, "result.content[0].text is missing"},
		{all, "tools/call", `{"content":[{"type":"tool_use","id":"1","name":"x","input":{}}]}`, nil, "result.content[0].type cannot stand here"},
		{all, "tools/call", `{"content":[{"type":"resource","resource":{"uri":"a","text":"b","blob":""}}]}`, nil, "resource must have text or blob"},
		{all, "resources/read", `{"contents":[{"uri":"a","blob":"-_8=A"}]}`, nil, "result.contents[0].blob must be base64"},
		{
			all, "resources/read", `{"contents":[{"uri":"a","blob":"-_8="},{"uri":"a","blob":"+/8"}]}`,
			&protocol.ReadResourceResult{Contents: []protocol.Contents{{URI: "a", Data: []byte{0xfb, 0xff}}, {URI: "a", Data: []byte{0xfb, 0xff}}}}, "",
		},
		{all, "tools/call", `{"content":[{"type":"image","mimeType":"image/png","data":"-_8=A"}]}`, nil, "result.content[0].data must be base64"},
		{
			all, "tools/call", `{"content":[{"type":"image","mimeType":"image/png","data":"-_8="},{"type":"image","mimeType":"image/png","data":"+\/8"}]}`,
			&protocol.CallToolResult{Content: []protocol.Block{
				protocol.Image{Data: []byte{0xfb, 0xff}, MIME: "image/png"}, protocol.Image{Data: []byte{0xfb, 0xff}, MIME: "image/png"},
			}}, "",
		},
		{
			[]protocol.Revision{revE},
			"tools/call", `{"resultType":"complete","content":[],"structuredContent":null}`,
			&protocol.CallToolResult{Content: []protocol.Block{}, Structured: []byte("null")}, "",
		},
		{[]protocol.Revision{revC, revD}, "tools/call", `{"content":[],"structuredContent":[1]}`, nil, "result.structuredContent must be an object"},
		{[]protocol.Revision{revA, revB}, "tools/call", `{"content":[],"structuredContent":[1]}`, &protocol.CallToolResult{Content: []protocol.Block{}}, ""},
		{[]protocol.Revision{revE}, "tools/call", `{"resultType":"partial","content":[]}`, nil, "result.resultType is not one that tools/call may have"},
		{[]protocol.Revision{revE}, "tools/call", `{"resultType":1,"content":[]}`, nil, "result.resultType must be a string"},
		{[]protocol.Revision{revE}, "tools/list", `{"resultType":"input_required","requestState":"x"}`, nil, "result.resultType is not one that tools/list may have"},
		{[]protocol.Revision{revE}, "prompts/get", `{"resultType":"task","taskId":"x"}`, nil, "result.resultType is not one that prompts/get may have"},
		{[]protocol.Revision{revE}, "prompts/get", `{"resultType":"input_required","requestState":"x"}`, &protocol.InputRequiredResult{State: new("x")}, ""},
		{[]protocol.Revision{revE}, "prompts/get", `{"resultType":"input_required","inputRequests":{}}`, nil, "result must have inputRequests or requestState"},
		{
			[]protocol.Revision{revE},
			"tools/call", `{"resultType":"input_required","inputRequests":{"a":{"method":"ping"}}}`, nil,
			"result.inputRequests.a.method must be one of",
		},
		{
			[]protocol.Revision{revE},
			"tools/call",
			`{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"},"a":{"method":"roots/list"}}}`,
			nil, "result.inputRequests.a is repeated",
		},
		{[]protocol.Revision{revA, revB, revC, revD}, "tools/list", `{"resultType":"odd","tools":[]}`, &protocol.ListToolsResult{Tools: []protocol.Tool{}}, ""},
		{all, "tools/list", `{"tools":[],"nextCursor":""}`, &protocol.ListToolsResult{Tools: []protocol.Tool{}, Next: new("")}, ""},
		{all, "tools/list", `{"tools":[{"name":"x"}]}`, nil, "result.tools[0].inputSchema is missing"},
		{[]protocol.Revision{revE}, "tools/list", `{"tools":[],"ttlMs":-5,"cacheScope":"public"}`, &protocol.ListToolsResult{Tools: []protocol.Tool{}}, ""},
		{[]protocol.Revision{revE}, "tools/list", `{"tools":[],"cacheScope":"shared"}`, nil, "result.cacheScope must be one of"},
		{[]protocol.Revision{revE}, "server/discover", `{"supportedVersions":["x"],"capabilities":{}}`, &protocol.DiscoverResult{Versions: []string{"x"}}, ""},
		{[]protocol.Revision{revD}, "tasks/get", `{"taskId":"x"}`, nil, "is missing"},
		{[]protocol.Revision{revE}, "tasks/get", `{"taskId":"x","status":"completed","createdAt":"2025-01-12T15:00:58Z","lastUpdatedAt":"2025-01-12T15:00:58Z","ttlMs":null}`, nil, "result.result is missing"},
		{[]protocol.Revision{revE}, "tasks/get", `{"taskId":"x","status":"working","createdAt":"today","lastUpdatedAt":"2025-01-12T15:00:58Z","ttlMs":null}`, nil, "result.createdAt must be an ISO 8601 date and time"},
		{all, "vendor/run", `{"a":1}`, &protocol.CustomResult{Raw: []byte(`{"a":1}`)}, ""},
		{[]protocol.Revision{revC, revD, revE}, "elicitation/create", `{"action":"maybe"}`, nil, "result.action must be one of"},
		{[]protocol.Revision{revC, revD, revE}, "elicitation/create", `{"action":"decline","content":null}`, &protocol.ElicitResult{Action: "decline"}, ""},
		{[]protocol.Revision{revC, revD, revE}, "elicitation/create", `{"action":"accept","content":[1]}`, nil, "result.content must be an object"},
		{all, "roots/list", `{"roots":null}`, &protocol.ListRootsResult{}, ""},
		{all, "roots/list", `{}`, nil, "result.roots is missing"},
	} {
		for _, rev := range c.revs {
			r, fault := dialect.Of(rev).DecodeResult(c.method, []byte(c.result))
			switch {
			case fault != nil && (c.fault == "" || !strings.Contains(fault.Message, c.fault)):
				t.Errorf("%s %s %s: fault %q, want %q", rev, c.method, c.result, fault.Message, c.fault)
			case fault == nil && c.fault != "":
				t.Errorf("%s %s %s was accepted as %+v", rev, c.method, c.result, r)
			case fault == nil && !reflect.DeepEqual(r, c.want):
				t.Errorf("%s %s %s = %+v, want %+v", rev, c.method, c.result, r, c.want)
			}
		}
	}
}

// For an earlier revision, a later member is an unknown one. Its type is not checked, and its value is
// not in the model.
func TestLaterMembersAreIgnored(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, result string
		refused        string // by revision, oldest first
	}{
		{"tools/list", `{"tools":[{"name":"x","inputSchema":{},"title":7}]}`, "00111"},
		{"tools/list", `{"tools":[{"name":"x","inputSchema":{},"icons":7}]}`, "00011"},
		{"tools/list", `{"tools":[{"name":"x","inputSchema":{},"_meta":7}]}`, "00111"},
		{"tools/list", `{"tools":[{"name":"x","inputSchema":{},"annotations":7}]}`, "01111"},
		{"tools/list", `{"tools":[{"name":"x","inputSchema":{},"outputSchema":7}]}`, "00111"},
		{"tools/list", `{"tools":[{"name":"x","inputSchema":{},"execution":7}]}`, "00010"},
		{"tools/list", `{"tools":[],"ttlMs":"x"}`, "00001"},
		{"tools/list", `{"tools":[],"cacheScope":7}`, "00001"},
		{"resources/list", `{"resources":[{"uri":"a:b","name":"x","title":7}]}`, "00111"},
		{"resources/list", `{"resources":[{"uri":"a:b","name":"x","annotations":{"lastModified":7}}]}`, "00111"},
		{"prompts/list", `{"prompts":[{"name":"x","arguments":[{"name":"y","title":7}]}]}`, "00111"},
		{"tools/call", `{"content":[{"type":"text","text":"","_meta":7,"data":7}]}`, "00111"},
		{"tools/call", `{"content":[],"structuredContent":7}`, "00110"},
		{"resources/read", `{"contents":[{"uri":"a:b","text":"","_meta":7}]}`, "00111"},
		{"roots/list", `{"roots":[{"uri":"a:b","_meta":7}]}`, "00111"},
		{"roots/list", `{"roots":[],"_meta":7}`, "11110"},
	} {
		got := perRevision(func(d *dialect.Dialect) bool {
			_, fault := d.DecodeResult(c.method, []byte(c.result))
			return fault != nil
		})
		if got != c.refused {
			t.Errorf("%s %s: refused by %s, want %s", c.method, c.result, got, c.refused)
		}
	}
}

// A _meta value has the Go types of encoding/json, and loses nothing.
func TestMetaValues(t *testing.T) {
	t.Parallel()
	const text = `{"a":null,"b":true,"c":"x","d":1.5,"e":[1,{"f":-2e-7}],"g":9007199254740993,"h":0.1234567890123456789,"i":1e400}`
	d := dialect.Of(revA)
	r, fault := d.DecodeResult("ping", []byte(`{"_meta":`+text+`}`))
	if fault != nil {
		t.Fatal(fault)
	}
	meta := r.(*protocol.EmptyResult).Meta
	want := protocol.Meta{
		"a": nil, "b": true, "c": "x", "d": 1.5, "e": []any{1.0, map[string]any{"f": -2e-7}},
		"g": json.Number("9007199254740993"), "h": json.Number("0.1234567890123456789"), "i": json.Number("1e400"),
	}
	if !reflect.DeepEqual(meta, want) {
		t.Errorf("meta = %#v", meta)
	}
	got, err := d.AppendResult(nil, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	sameNumbers(t, got, `{"_meta":`+text+`}`)
}

// sameNumbers compares by text, 2e-7 and 2e-07 being the same.
func sameNumbers(t *testing.T, got []byte, want string) {
	t.Helper()
	if strings.ReplaceAll(string(got), "e-07", "e-7") != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestMetaOfUserTypes(t *testing.T) {
	t.Parallel()
	type part struct {
		A string `json:"a"`
	}
	d := dialect.Of(revE)
	got, err := d.AppendResult(nil, &protocol.EmptyResult{Meta: protocol.Meta{
		"a": part{"<b>"}, "b": []string{"x"}, "c": int64(7), "d": protocol.Meta(nil), "e": []any(nil),
		"f": json.RawMessage("{\n}"), "g": 1e21, "h": []byte{1},
	}}, nil)
	want := `{"resultType":"complete","_meta":{"a":{"a":"<b>"},"b":["x"],"c":7,"d":null,"e":null,"f":{},"g":1e+21,"h":"AQ=="}}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	for _, bad := range []any{math.NaN(), math.Inf(1), func() {}, json.RawMessage("{"), []any{make(chan int)}, map[string]any{"x": math.NaN()}} {
		if got, err := d.AppendResult(nil, &protocol.EmptyResult{Meta: protocol.Meta{"a": bad}}, nil); err == nil {
			t.Errorf("%T was written: %s", bad, got)
		}
	}
}

func TestHintsAreBetweenZeroAndOne(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{"0": true, "1": true, "0.5": true, "-0.1": false, "1.1": false, `"1"`: false, "1e400": false} {
		for _, d := range dialect.All() {
			_, fault := d.DecodeResult("tools/call", []byte(`{"content":[{"type":"text","text":"","annotations":{"priority":`+text+`}}]}`))
			if (fault == nil) != ok {
				t.Errorf("%s: priority %s: %v", d, text, fault)
			}
		}
	}
}

// lastModified is a string in the schema. A malformed one is ignored.
func TestLastModified(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2025-01-12T15:00:58Z":      "2025-01-12T15:00:58Z",
		"2025-01-12T15:00:58+02:00": "2025-01-12T13:00:58Z",
		"2025-01-12T15:00:58":       "2025-01-12T15:00:58Z",
		"2025-01-12":                "2025-01-12T00:00:00Z",
		"yesterday":                 "",
	} {
		r, fault := dialect.Of(revC).DecodeResult("tools/call",
			[]byte(`{"content":[{"type":"text","text":"","annotations":{"lastModified":"`+text+`"}}]}`))
		if fault != nil {
			t.Fatal(fault)
		}
		at := r.(*protocol.CallToolResult).Content[0].(protocol.Text).Annotations.LastModified
		if got := at.Format(time.RFC3339); at.IsZero() != (want == "") || want != "" && got != want {
			t.Errorf("%s = %s, want %s", text, got, want)
		}
	}
}

// TestStructuredContentOfNull: null is a value of structuredContent only on 2026-07-28. On older revisions it is
// absent.
func TestStructuredContentOfNull(t *testing.T) {
	t.Parallel()
	for _, rev := range []protocol.Revision{revC, revD} {
		r, fault := dialect.Of(rev).DecodeResult("tools/call", []byte(`{"content":[],"structuredContent":null}`))
		if want := (&protocol.CallToolResult{Content: []protocol.Block{}}); fault != nil || !reflect.DeepEqual(r, want) {
			t.Errorf("%s: %+v, %v", rev, r, fault)
		}
	}
	_, fault := dialect.Of(revD).DecodeParams("sampling/createMessage", []byte(`{"messages":[{"role":"user","content":`+
		`{"type":"tool_result","toolUseId":"1","content":[],"structuredContent":null}}],"maxTokens":1}`))
	if fault != nil {
		t.Error(fault)
	}
}

// TestNothingInResults: null for an optional member is absent, and an empty list is an empty object (ADR 8), also
// where no table reads the member.
func TestNothingInResults(t *testing.T) {
	t.Parallel()
	const task = `"taskId":"x","status":"working","createdAt":"2025-01-12T15:00:58Z","lastUpdatedAt":"2025-01-12T15:00:58Z"`
	all := protocol.Revisions()
	for _, c := range []struct {
		revs           []protocol.Revision
		method, result string
	}{
		{all, "tools/call", `{"content":[],"_meta":[]}`},
		{all, "tools/list", `{"tools":[{"name":"x","inputSchema":{},"_meta":[]}]}`},
		{all, "roots/list", `{"roots":[],"_meta":[]}`},
		{[]protocol.Revision{revD}, "tools/call", `{"content":[],"task":null}`},
		{[]protocol.Revision{revD}, "tasks/get", `{` + task + `,"ttl":null,"_meta":null}`},
		{[]protocol.Revision{revE}, "tasks/get", `{` + task + `,"ttlMs":null,"_meta":null}`},
		{[]protocol.Revision{revE}, "tasks/update", `[]`},
		{[]protocol.Revision{revE}, "tools/call", `{"resultType":"input_required","requestState":"s","inputRequests":[]}`},
		{[]protocol.Revision{revE}, "server/discover", `{"supportedVersions":["x"],"capabilities":{},"_meta":{"io.modelcontextprotocol/serverInfo":null}}`},
	} {
		for _, rev := range c.revs {
			if _, fault := dialect.Of(rev).DecodeResult(c.method, []byte(c.result)); fault != nil {
				t.Errorf("%s %s %s: %v", rev, c.method, c.result, fault)
			}
		}
	}
}

// TestMetaIsBounded: a value that is nested too deep, or contains itself, is an error. It does not end the process.
func TestMetaIsBounded(t *testing.T) {
	t.Parallel()
	deep := any("x")
	for range 2000 {
		deep = map[string]any{"a": []any{deep}}
	}
	itself := map[string]any{}
	itself["itself"] = itself
	for _, d := range dialect.All() {
		for _, bad := range []any{deep, itself} {
			_, err := d.AppendResult(nil, &protocol.EmptyResult{Meta: protocol.Meta{"a": bad}}, nil)
			if err == nil || len(err.Error()) > 500 {
				t.Fatalf("%s: error %.500v", d, err)
			}
		}
		if e := d.Error(&protocol.Error{Code: 7, Message: "m", Data: itself}); e == nil || e.Code != 7 || e.Data != nil {
			t.Errorf("%s: %+v", d, e)
		}
	}
}
