package dialect_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// What a revision has not and what cannot be said otherwise is refused. refused
// has one digit per revision, oldest first.
func TestEncodingRefuses(t *testing.T) {
	t.Parallel()
	sample := func(content ...protocol.Block) *protocol.CreateMessageParams {
		return &protocol.CreateMessageParams{
			Messages: []protocol.Message{{Role: protocol.RoleUser, More: content}}, MaxTokens: 1,
		}
	}
	text := protocol.Text{Text: "x"}
	blob := protocol.Embedded{Contents: protocol.Contents{URI: "a:b", Data: []byte{1}}}
	for name, c := range map[string]struct {
		params  protocol.Params
		result  protocol.Result
		refused string
	}{
		"initialize":                {params: &protocol.InitializeParams{}, refused: "00001"},
		"discover":                  {params: &protocol.DiscoverParams{}, refused: "11110"},
		"ping":                      {params: &protocol.PingParams{}, refused: "00001"},
		"elicitation":               {params: contact(), refused: "11000"},
		"elicitation by URL":        {params: &protocol.ElicitParams{URL: "https://a", ID: "1"}, refused: "11100"},
		"URL without id":            {params: &protocol.ElicitParams{URL: "https://a"}, refused: "11110"},
		"elicitation of nothing":    {params: &protocol.ElicitParams{Message: "x"}, refused: "11111"},
		"multiple choice":           {params: form(`{"c":{"type":"array","items":{"enum":["a"]}}}`), refused: "11100"},
		"sampling with tools":       {params: createMessageWithTools(), refused: "11100"},
		"several sampling blocks":   {params: sample(text, text), refused: "11100"},
		"empty sampling message":    {params: sample(), refused: "11100"},
		"tool use":                  {params: sample(toolUses()[0]), refused: "11100"},
		"embedded blob in sampling": {params: sample(blob), refused: "11111"},
		"nil block":                 {params: sample(nil), refused: "11111"},
		"cancellation without id":   {params: &protocol.CancelledParams{}, refused: "11101"},
		"progress without token":    {params: &protocol.ProgressParams{}, refused: "11111"},
		"arguments no object":       {params: &protocol.CallToolParams{Arguments: []byte("[]")}, refused: "11111"},
		"task update":               {params: &protocol.UpdateTaskParams{}, refused: "11110"},
		"task list":                 {params: &protocol.ListTasksParams{}, refused: "11101"},
		"progress of NaN":           {params: &protocol.ProgressParams{Token: jsonrpc.IntID(1), Done: math.NaN()}, refused: "11111"},
		"choice of numbers":         {params: form(`{"c":{"type":"string","oneOf":[{"const":1}]}}`), refused: "11100"},
		"log of nothing":            {params: &protocol.LogParams{Level: protocol.LevelInfo}, refused: "00000"},
		"custom no object":          {params: &protocol.CustomParams{Name: "a/b", Raw: []byte("1")}, refused: "11111"},

		"initialize result":     {result: &protocol.InitializeResult{}, refused: "00001"},
		"discover result":       {result: &protocol.DiscoverResult{}, refused: "11110"},
		"listen result":         {result: &protocol.ListenResult{ID: jsonrpc.IntID(1)}, refused: "11110"},
		"input required":        {result: &protocol.InputRequiredResult{State: new("x")}, refused: "11110"},
		"input required, empty": {result: &protocol.InputRequiredResult{}, refused: "11111"},
		"question used twice":   {result: questions("a", "a"), refused: "11111"},
		"created task":          {result: &protocol.CreateTaskResult{Task: exampleTaskState()}, refused: "11100"},
		"task without times":    {result: &protocol.CreateTaskResult{}, refused: "11111"},
		"tasks":                 {result: &protocol.ListTasksResult{}, refused: "11101"},
		"tool use as tool output": {
			result: &protocol.CallToolResult{Content: []protocol.Block{toolUses()[0]}}, refused: "11111",
		},
		"prompt message of two blocks": {
			result:  &protocol.GetPromptResult{Messages: []protocol.Message{{Content: text, More: []protocol.Block{text}}}},
			refused: "11111",
		},
		"message of the system":   {result: &protocol.GetPromptResult{Messages: []protocol.Message{{Role: "system", Content: text}}}, refused: "11111"},
		"sample of the system":    {result: &protocol.CreateMessageResult{Role: "system", Content: []protocol.Block{text}}, refused: "11111"},
		"priority of a hundred":   {result: annotated(protocol.Annotations{Priority: new(100.0)}), refused: "11111"},
		"audience of the system":  {result: annotated(protocol.Annotations{Audience: []protocol.Role{"system"}}), refused: "11111"},
		"icon of a theme unknown": {result: linked(protocol.Icon{Src: "https://a", Theme: "dusk"}), refused: "00011"},
		"answer of a list": {
			result: &protocol.ElicitResult{Action: "accept", Content: []byte(`{"a":["b"]}`)}, refused: "11100",
		},
		"meta without JSON form": {
			result: &protocol.EmptyResult{Meta: protocol.Meta{"a/b": make(chan int)}}, refused: "11111",
		},
		"completed without result": {
			result: &protocol.TaskResult{Task: finishedTask(protocol.TaskCompleted)}, refused: "11101",
		},
		"failed without error": {
			result: &protocol.TaskResult{Task: finishedTask(protocol.TaskFailed)}, refused: "11101",
		},
		"question that cannot be asked": {
			result:  &protocol.InputRequiredResult{Requests: []protocol.InputRequest{{Key: "a", Params: &protocol.PingParams{}}}},
			refused: "11111",
		},
		"custom result no object": {result: &protocol.CustomResult{Raw: []byte("1")}, refused: "11111"},
	} {
		got := perRevision(func(d *dialect.Dialect) bool {
			var err error
			if c.params != nil {
				_, err = d.AppendParams(nil, c.params, nil)
			} else {
				_, err = d.AppendResult(nil, c.result, nil)
			}
			return err != nil
		})
		if got != c.refused {
			t.Errorf("%s: refused by %s, want %s", name, got, c.refused)
		}
	}
}

func annotated(a protocol.Annotations) *protocol.CallToolResult {
	return &protocol.CallToolResult{Content: []protocol.Block{protocol.Text{Text: "x", Annotations: &a}}}
}

func linked(icon protocol.Icon) *protocol.CallToolResult {
	return &protocol.CallToolResult{Content: []protocol.Block{protocol.Link{URI: "a:b", Name: "b", Icons: []protocol.Icon{icon}}}}
}

func form(properties string) *protocol.ElicitParams {
	return &protocol.ElicitParams{
		Message: "x", Schema: json.RawMessage(`{"type":"object","properties":` + properties + `}`),
	}
}

func questions(keys ...string) *protocol.InputRequiredResult {
	r := new(protocol.InputRequiredResult)
	for _, k := range keys {
		r.Requests = append(r.Requests, protocol.InputRequest{Key: k, Params: &protocol.ListRootsParams{}})
	}
	return r
}

// wants maps each revision to a wire form; "" means as the revision before.
func checkPerRevision(t *testing.T, want [5]string, encode func(*dialect.Dialect) ([]byte, error)) {
	t.Helper()
	for i, d := range dialect.All() {
		if want[i] == "" {
			want[i] = want[i-1]
		}
		got, err := encode(d)
		if err != nil {
			t.Errorf("%s: %v", d, err)
			continue
		}
		if string(got) != want[i] {
			t.Errorf("%s:\n got %s\nwant %s", d, got, want[i])
		}
	}
}

func TestStructuredContent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		structured string
		wrapped    bool
		want       [5]string
	}{
		"object":         {`{"a":1}`, false, [5]string{`{"content":[]}`, "", `{"content":[],"structuredContent":{"a":1}}`, "", `{"resultType":"complete","content":[],"structuredContent":{"a":1}}`}},
		"wrapped object": {`{"a":1}`, true, [5]string{`{"content":[]}`, "", `{"content":[],"structuredContent":{"result":{"a":1}}}`, "", `{"resultType":"complete","content":[],"structuredContent":{"a":1}}`}},
		"null":           {`null`, false, [5]string{`{"content":[]}`, "", `{"content":[],"structuredContent":{"result":null}}`, "", `{"resultType":"complete","content":[],"structuredContent":null}`}},
		"zero":           {`0`, false, [5]string{`{"content":[]}`, "", `{"content":[],"structuredContent":{"result":0}}`, "", `{"resultType":"complete","content":[],"structuredContent":0}`}},
		"false":          {`false`, false, [5]string{`{"content":[]}`, "", `{"content":[],"structuredContent":{"result":false}}`, "", `{"resultType":"complete","content":[],"structuredContent":false}`}},
		"empty string":   {`""`, true, [5]string{`{"content":[]}`, "", `{"content":[],"structuredContent":{"result":""}}`, "", `{"resultType":"complete","content":[],"structuredContent":""}`}},
		"empty list":     {`[]`, true, [5]string{`{"content":[]}`, "", `{"content":[],"structuredContent":{"result":[]}}`, "", `{"resultType":"complete","content":[],"structuredContent":[]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkPerRevision(t, c.want, func(d *dialect.Dialect) ([]byte, error) {
				return d.AppendResult(nil, &protocol.CallToolResult{
					Content: []protocol.Block{}, Structured: json.RawMessage(c.structured), Wrapped: c.wrapped,
				}, nil)
			})
		})
	}
}

// A result whose blocks were left to the dialect says its value as text too.
func TestStructuredContentIsCopiedAsText(t *testing.T) {
	t.Parallel()
	checkPerRevision(t, [5]string{
		`{"content":[{"type":"text","text":"{\"a\":\"<b>\"}"}]}`, "",
		`{"content":[{"type":"text","text":"{\"a\":\"<b>\"}"}],"structuredContent":{"a":"<b>"}}`, "",
		`{"resultType":"complete","content":[{"type":"text","text":"{\"a\":\"<b>\"}"}],"structuredContent":{"a":"<b>"}}`,
	}, func(d *dialect.Dialect) ([]byte, error) {
		return d.AppendResult(nil, &protocol.CallToolResult{Structured: json.RawMessage(`{"a":"<b>"}`)}, nil)
	})
}

// A question without fields asks for consent alone; all revisions demand both members.
func TestFormsHaveTypeAndProperties(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{}`:                      `{"type":"object","properties":{}}`,
		`{"type":"object"}`:       `{"type":"object","properties":{}}`,
		`{"properties":{"a":{}}}`: `{"type":"object","properties":{"a":{}}}`,
		`{"required":["a"]}`:      `{"type":"object","required":["a"],"properties":{}}`,
	} {
		for _, d := range dialect.All() {
			if !d.Elicits() {
				continue
			}
			got, err := d.AppendParams(nil, &protocol.ElicitParams{Message: "x", Schema: json.RawMessage(schema)}, nil)
			if sent, _ := jsontext.Member(got, "requestedSchema"); err != nil || string(sent) != want {
				t.Errorf("%s: %s is sent as %s, %v; want %s", d, schema, sent, err, want)
			}
		}
	}
}

func TestRequiredArraysAreNeverNull(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]protocol.Result{
		`"content":[]`:           &protocol.CallToolResult{},
		`"tools":[]`:             &protocol.ListToolsResult{},
		`"resources":[]`:         &protocol.ListResourcesResult{},
		`"resourceTemplates":[]`: &protocol.ListTemplatesResult{},
		`"prompts":[]`:           &protocol.ListPromptsResult{},
		`"contents":[]`:          &protocol.ReadResourceResult{},
		`"messages":[]`:          &protocol.GetPromptResult{},
		`"values":[]`:            &protocol.CompleteResult{},
		`"roots":[]`:             &protocol.ListRootsResult{},
	} {
		for _, d := range dialect.All() {
			got, err := d.AppendResult(nil, r, nil)
			if err != nil || !strings.Contains(string(got), want) {
				t.Errorf("%s %T: %s, %v", d, r, got, err)
			}
		}
	}
}

func TestPageIsTheList(t *testing.T) {
	t.Parallel()
	tool, resource := weatherTool(), protocol.Resource{URI: "a:b", Name: "n"}
	template, prompt := protocol.ResourceTemplate{URITemplate: "a:{b}", Name: "n"}, protocol.Prompt{Name: "n"}
	next, cache, meta := new(""), protocol.CacheHints{TTL: time.Second, Private: true}, protocol.Meta{"a/b": true}
	for _, d := range dialect.All() {
		for kind, c := range map[protocol.ListKind]struct {
			list  protocol.Result
			entry func() ([]byte, error)
		}{
			protocol.ListTools: {
				&protocol.ListToolsResult{Tools: []protocol.Tool{tool, tool}, Next: next, Cache: cache, Meta: meta},
				func() ([]byte, error) { return d.AppendTool(nil, &tool) },
			},
			protocol.ListResources: {
				&protocol.ListResourcesResult{Resources: []protocol.Resource{resource, resource}, Next: next, Cache: cache, Meta: meta},
				func() ([]byte, error) { return d.AppendResource(nil, &resource) },
			},
			protocol.ListTemplates: {
				&protocol.ListTemplatesResult{Templates: []protocol.ResourceTemplate{template, template}, Next: next, Cache: cache, Meta: meta},
				func() ([]byte, error) { return d.AppendTemplate(nil, &template) },
			},
			protocol.ListPrompts: {
				&protocol.ListPromptsResult{Prompts: []protocol.Prompt{prompt, prompt}, Next: next, Cache: cache, Meta: meta},
				func() ([]byte, error) { return d.AppendPrompt(nil, &prompt) },
			},
		} {
			entry, err := c.entry()
			if err != nil {
				t.Fatal(err)
			}
			server := d.AppendImplementation(nil, exampleServer)
			want, err := d.AppendResult(nil, c.list, server)
			if err != nil {
				t.Fatal(err)
			}
			got, err := d.AppendResult(nil, &protocol.Page{
				Kind: kind, Entries: [][]byte{entry, entry}, Next: next, Cache: cache, Meta: meta,
			}, server)
			if err != nil || string(got) != string(want) {
				t.Errorf("%s kind %d:\n got %s %v\nwant %s", d, kind, got, err, want)
			}
		}
	}
}

func TestCompletionIsCutAtHundred(t *testing.T) {
	t.Parallel()
	for _, d := range dialect.All() {
		got, err := d.AppendResult(nil, &protocol.CompleteResult{
			Completion: protocol.Completion{Values: make([]string, 101)},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, fault := d.DecodeResult("completion/complete", got)
		if fault != nil {
			t.Fatal(fault)
		}
		c := r.(*protocol.CompleteResult).Completion
		if len(c.Values) != 100 || c.Total != 101 || !c.HasMore {
			t.Errorf("%s: %d values, total %d, more %v", d, len(c.Values), c.Total, c.HasMore)
		}
	}
}

func TestToolTitleOfEachRevision(t *testing.T) {
	t.Parallel()
	checkPerRevision(t, [5]string{
		`{"name":"n","inputSchema":{"type":"object"}}`,
		`{"name":"n","inputSchema":{"type":"object"},"annotations":{"title":"T"}}`,
		`{"name":"n","title":"T","inputSchema":{"type":"object"}}`, "", "",
	}, func(d *dialect.Dialect) ([]byte, error) {
		return d.AppendTool(nil, &protocol.Tool{Name: "n", Title: "T"})
	})
}

func TestInputSchemas(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string][5]string{
		``:                               {`{"type":"object"}`, "", "", "", ""},
		`{"additionalProperties":false}`: {`{"type":"object","additionalProperties":false}`, "", "", "", ""},
		`{"type":"object","properties":{"a":true,"b":false}}`: {
			`{"type":"object","properties":{"a":{},"b":{"not":{}}}}`, "", "", "",
			`{"type":"object","properties":{"a":true,"b":false}}`,
		},
	} {
		checkPerRevision(t, want, func(d *dialect.Dialect) ([]byte, error) {
			tool := &protocol.Tool{Name: "n"}
			if schema != "" {
				tool.InputSchema = json.RawMessage(schema)
			}
			got, err := d.AppendTool(nil, tool)
			s := strings.TrimPrefix(string(got), `{"name":"n","inputSchema":`)
			return []byte(strings.TrimSuffix(s, "}")), err
		})
	}
	for _, schema := range []string{`true`, `[]`, `{"type":"string"}`, `{"type":["object","null"]}`} {
		for _, d := range dialect.All() {
			if got, err := d.AppendTool(nil, &protocol.Tool{Name: "n", InputSchema: json.RawMessage(schema)}); err == nil {
				t.Errorf("%s: input schema %s was written: %s", d, schema, got)
			}
		}
	}
}

func TestOutputSchemas(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string][2]string{ // 2025-06-18 and 2025-11-25; 2026-07-28
		`{"type":"object"}`: {`{"type":"object"}`, `{"type":"object"}`},
		`{"type":"integer"}`: {
			`{"type":"object","properties":{"result":{"type":"integer"}},"required":["result"]}`, `{"type":"integer"}`,
		},
		`{"type":["object","null"]}`: {
			`{"type":"object","anyOf":[{"type":"object"},{"properties":{"result":{"type":"null"}},"required":["result"],"additionalProperties":false}]}`,
			`{"type":["object","null"]}`,
		},
		`{"type":["object","null"],"properties":{"next":{"$ref":"#"},"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"$ref":"#/properties/next"}}}`: {
			`{"$defs":{"N":{"$ref":"#/anyOf/0/properties/next"}},"type":"object","anyOf":[` +
				`{"type":"object","properties":{"next":{"$ref":"#/anyOf/0"},"n":{"$ref":"#/$defs/N"}}},` +
				`{"properties":{"result":{"type":"null"}},"required":["result"],"additionalProperties":false}]}`,
			`{"type":["object","null"],"properties":{"next":{"$ref":"#"},"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"$ref":"#/properties/next"}}}`,
		},
		`true`: {`{"type":"object","properties":{"result":{}},"required":["result"]}`, `{}`},
		`{"$schema":"s","type":"array","items":{"$ref":"#/$defs/N"},"$defs":{"N":{"anyOf":[{"$ref":"#"},{"$ref":"#/items"}]}}}`: {
			`{"$schema":"s","$defs":{"N":{"anyOf":[{"$ref":"#/properties/result"},{"$ref":"#/properties/result/items"}]}},` +
				`"type":"object","properties":{"result":{"type":"array","items":{"$ref":"#/$defs/N"}}},"required":["result"]}`,
			`{"$schema":"s","type":"array","items":{"$ref":"#/$defs/N"},"$defs":{"N":{"anyOf":[{"$ref":"#"},{"$ref":"#/items"}]}}}`,
		},
		`{"const":{"$ref":"#"},"properties":{"const":{"$ref":"#"},"$ref":true}}`: {
			`{"type":"object","properties":{"result":{"const":{"$ref":"#"},` +
				`"properties":{"const":{"$ref":"#/properties/result"},"$ref":true}}},"required":["result"]}`,
			`{"const":{"$ref":"#"},"properties":{"const":{"$ref":"#"},"$ref":true}}`,
		},
		`{"$id":"https://a/b","type":"array","items":{"$ref":"#/$defs/N"},"$defs":{"N":{}}}`: {
			`{"type":"object","properties":{"result":{"$id":"https://a/b","type":"array","items":{"$ref":"#/$defs/N"},` +
				`"$defs":{"N":{}}}},"required":["result"]}`,
			`{"$id":"https://a/b","type":"array","items":{"$ref":"#/$defs/N"},"$defs":{"N":{}}}`,
		},
	} {
		prefix := `{"name":"n","inputSchema":{"type":"object"}`
		old := prefix + `,"outputSchema":` + want[0] + "}"
		checkPerRevision(t, [5]string{prefix + "}", "", old, "", prefix + `,"outputSchema":` + want[1] + "}"},
			func(d *dialect.Dialect) ([]byte, error) {
				return d.AppendTool(nil, &protocol.Tool{Name: "n", OutputSchema: json.RawMessage(schema)})
			})
	}
}

func TestWrapsOutput(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]bool{
		``: false, `{"type":"object"}`: false, `{"type" : "\u006fbject"}`: false,
		`{"type":"array"}`: true, `{"type":["object"]}`: false, `{"type":["object","null"]}`: false, `{"type":["object","array"]}`: true, `{}`: true, `true`: true,
	} {
		if got := dialect.WrapsOutput([]byte(schema)); got != want {
			t.Errorf("WrapsOutput(%s) = %v", schema, got)
		}
	}
}

// Line breaks end a frame on stdio, so raw JSON of users loses its own.
func TestRawJSONLosesLineBreaks(t *testing.T) {
	t.Parallel()
	got, err := dialect.Of(revE).AppendResult(nil, &protocol.CallToolResult{
		Content: []protocol.Block{}, Structured: json.RawMessage("{\n  \"a\": \"x\\ny\"\r\n}"),
	}, nil)
	if want := `{"resultType":"complete","content":[],"structuredContent":{"a":"x\ny"}}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// The identity of the server is the server's to say.
func TestServerInfoCannotBeForged(t *testing.T) {
	t.Parallel()
	d := dialect.Of(revE)
	meta := protocol.Meta{"io.modelcontextprotocol/serverInfo": "forged", "a/b": nil}
	server := d.AppendImplementation(nil, exampleServer)
	want := `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"ExampleServer","version":"1.0.0"},"a/b":null}}`
	for _, r := range []protocol.Result{
		&protocol.EmptyResult{Meta: meta},
		&protocol.CustomResult{Raw: json.RawMessage(`{"_meta":{"io.modelcontextprotocol/serverInfo":"forged","a/b":null}}`)},
	} {
		got, err := d.AppendResult(nil, r, server)
		if err != nil || !strings.HasSuffix(string(got), want) {
			t.Errorf("%T: %s, %v", r, got, err)
		}
	}
}

// AppendImplementation has no error, so it leaves out icons with an unknown theme. The results that
// contain the server's icons are refused.
func TestServerInfoWithUnknownTheme(t *testing.T) {
	t.Parallel()
	server := protocol.Implementation{Name: "a", Version: "1", Icons: []protocol.Icon{{Src: "https://a", Theme: "dusk"}}}
	for _, d := range dialect.All() {
		if got := d.AppendImplementation(nil, &server); string(got) != `{"name":"a","version":"1"}` {
			t.Errorf("%s: %s", d, got)
		}
	}
	got, err := dialect.Of(revE).AppendResult(nil, &protocol.DiscoverResult{Server: server}, nil)
	if err == nil || !strings.Contains(err.Error(), `theme "dusk"`) {
		t.Errorf("%s, %v", got, err)
	}
	got, err = dialect.Of(revD).AppendResult(nil, &protocol.InitializeResult{Server: server}, nil)
	if err == nil || !strings.Contains(err.Error(), `theme "dusk"`) {
		t.Errorf("%s, %v", got, err)
	}
}

// Handshake revisions must not see what 2026-07-28 adds to results.
func TestHandshakeResultsAreBare(t *testing.T) {
	t.Parallel()
	for _, d := range dialect.All()[:4] {
		got, err := d.AppendResult(nil, &protocol.EmptyResult{}, d.AppendImplementation(nil, exampleServer))
		if err != nil || string(got) != "{}" {
			t.Errorf("%s: %s, %v", d, got, err)
		}
		got, err = d.AppendResult(nil, &protocol.CustomResult{Raw: []byte(`{"a":1}`)}, []byte(`{}`))
		if err != nil || string(got) != `{"a":1}` {
			t.Errorf("%s: %s, %v", d, got, err)
		}
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	d := dialect.Of(revE)
	const text = "\u2028<&>\x00\"\\\n"
	got, err := d.AppendBlock([]byte("["), protocol.Text{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	var back []struct{ Text string }
	if err := json.Unmarshal(append(got, ']'), &back); err != nil || back[0].Text != text {
		t.Errorf("%s came back as %+v, %v", got, back, err)
	}
	if strings.Contains(string(got), `\u003c`) {
		t.Errorf("HTML was escaped: %s", got)
	}
	if got, err := d.AppendBlock([]byte("["), nil); err == nil || string(got) != "[" {
		t.Errorf("after an error dst is %s, %v", got, err)
	}
}

func TestUsualRoles(t *testing.T) {
	t.Parallel()
	for _, d := range dialect.All() {
		text := protocol.Text{Text: "x"}
		got, err := d.AppendResult(nil, &protocol.GetPromptResult{Messages: []protocol.Message{{Content: text}}}, nil)
		if err != nil || !strings.Contains(string(got), `"role":"user"`) {
			t.Errorf("%s: %s, %v", d, got, err)
		}
		got, err = d.AppendResult(nil, &protocol.CreateMessageResult{Content: []protocol.Block{text}}, nil)
		if err != nil || !strings.Contains(string(got), `"role":"assistant"`) {
			t.Errorf("%s: %s, %v", d, got, err)
		}
	}
}

// 2026-07-28 has the server's identity in _meta; a DiscoverResult names its own.
func TestDiscoverNamesItsServer(t *testing.T) {
	t.Parallel()
	d := dialect.Of(revE)
	found := &protocol.DiscoverResult{Versions: []string{"2026-07-28"}, Server: *exampleServer}
	for _, server := range [][]byte{nil, []byte(`{"name":"short"}`)} {
		got, err := d.AppendResult(nil, found, server)
		if err != nil || !strings.Contains(string(got), `"io.modelcontextprotocol/serverInfo":{"name":"ExampleServer"`) {
			t.Errorf("%s, %v", got, err)
		}
	}
	found.Server = protocol.Implementation{}
	if got, err := d.AppendResult(nil, found, nil); err != nil || strings.Contains(string(got), "_meta") {
		t.Errorf("%s, %v", got, err)
	}
}

// TestInlinedResult: the result of a task says what it is, whatever the revision at which it was made.
func TestInlinedResult(t *testing.T) {
	t.Parallel()
	d := dialect.Of(revE)
	for _, result := range []string{`{"content":[]}`, `{"resultType":"complete","content":[]}`} {
		done := finishedTask(protocol.TaskCompleted)
		done.Result = json.RawMessage(result)
		got, err := d.AppendResult(nil, &protocol.TaskResult{Task: done}, nil)
		if err != nil || !strings.Contains(string(got), `"result":{"resultType":"complete","content":[]}`) {
			t.Errorf("%s: %s %v", result, got, err)
		}
	}
}

// TestInlinedError: the error of a task has no code that 2026-07-28 forbids, whatever revision made it.
func TestInlinedError(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]string{-32002: `"code":-32602`, -32042: `"code":-32602`, -32603: `"code":-32603`, 7: `"code":7`} {
		failed := finishedTask(protocol.TaskFailed)
		failed.Error = &protocol.Error{Code: code, Message: "m"}
		got, err := dialect.Of(revE).AppendResult(nil, &protocol.TaskResult{Task: failed}, nil)
		if err != nil || !strings.Contains(string(got), want+`,"message":"m"`) {
			t.Errorf("%d: %s, %v", code, got, err)
		}
	}
}
