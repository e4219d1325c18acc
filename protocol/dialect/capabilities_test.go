package dialect_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// declared reads client capabilities the way the revision carries them.
func declared(t *testing.T, d *dialect.Dialect, text string) protocol.ClientCapabilities {
	t.Helper()
	if d.Handshake() {
		p, fault := d.DecodeParams("initialize", []byte(`{"protocolVersion":"`+d.String()+
			`","capabilities":`+text+`,"clientInfo":{"name":"x","version":"1"}}`))
		if fault != nil {
			t.Fatalf("%s: %s: %v", d, text, fault)
		}
		return p.(*protocol.InitializeParams).Capabilities
	}
	m, fault := d.DecodeMeta([]byte(`{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + d.String() +
		`","io.modelcontextprotocol/clientCapabilities":` + text + `}}`))
	if fault != nil {
		t.Fatalf("%s: %s: %v", d, text, fault)
	}
	return *m.Capabilities
}

func TestClientCapabilitiesAreRead(t *testing.T) {
	t.Parallel()
	type caps = protocol.ClientCapabilities
	none := map[string]json.RawMessage{}
	for text, want := range map[string][5]caps{
		`{}`: {},
		`[]`: {},
		`{"sampling":null,"roots":null,"elicitation":null,"tasks":null,"extensions":null,"experimental":null}`: {},
		`{"sampling":true,"roots":true,"elicitation":true,"tasks":true,"extensions":true,"experimental":true}`: {},
		`{"sampling":"x","roots":1,"elicitation":[1],"tasks":[{}],"extensions":"","experimental":0}`:           {},
		`{"elicitation":{"form":1}}`:      {{}, {}, {Elicitation: true}, {}, {}},
		`{"roots":{"listChanged":"yes"}}`: {{Roots: true}, {Roots: true}, {Roots: true}, {Roots: true}, {Roots: true}},
		`{"roots":[]}`:                    {{Roots: true}, {Roots: true}, {Roots: true}, {Roots: true}, {Roots: true}},
		`{"sampling":{"tools":true}}`:     {{Sampling: true}, {Sampling: true}, {Sampling: true}, {Sampling: true}, {Sampling: true}},
		`{"experimental":{"notifications":true}}`: {
			{Experimental: none}, {Experimental: none}, {Experimental: none}, {Experimental: none}, {Experimental: none},
		},
		`{"elicitation":{}}`: {
			{}, {}, {Elicitation: true}, {Elicitation: true}, {Elicitation: true},
		},
		`{"elicitation":{"form":{}}}`: {
			{}, {}, {Elicitation: true}, {Elicitation: true}, {Elicitation: true},
		},
		`{"elicitation":{"url":{}}}`: {
			{}, {}, {Elicitation: true}, {ElicitURL: true}, {ElicitURL: true},
		},
		`{"elicitation":{"form":{},"url":{}}}`: {
			{}, {}, {Elicitation: true}, {Elicitation: true, ElicitURL: true}, {Elicitation: true, ElicitURL: true},
		},
		`{"sampling":{"tools":{},"context":{}}}`: {
			{Sampling: true},
			{Sampling: true},
			{Sampling: true},
			{Sampling: true, SamplingTool: true, SamplingContext: true},
			{Sampling: true, SamplingTool: true, SamplingContext: true},
		},
		`{"roots":{"listChanged":true}}`: {
			{Roots: true, RootsListChanged: true},
			{Roots: true, RootsListChanged: true},
			{Roots: true, RootsListChanged: true},
			{Roots: true, RootsListChanged: true},
			{Roots: true},
		},
		`{"tasks":{"list":{},"requests":{"elicitation":{"create":{}}}}}`: {
			{}, {}, {}, {Tasks: true, TaskList: true, TaskElicitation: true}, {},
		},
		`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`: {
			{Extensions: raw("io.modelcontextprotocol/tasks")},
			{Extensions: raw("io.modelcontextprotocol/tasks")},
			{Extensions: raw("io.modelcontextprotocol/tasks")},
			{Extensions: raw("io.modelcontextprotocol/tasks")},
			{Extensions: raw("io.modelcontextprotocol/tasks"), Tasks: true},
		},
		`{"experimental":{"a/b":{}},"future":7}`: {
			{Experimental: raw("a/b")},
			{Experimental: raw("a/b")},
			{Experimental: raw("a/b")},
			{Experimental: raw("a/b")},
			{Experimental: raw("a/b")},
		},
	} {
		for i, d := range dialect.All() {
			if got := declared(t, d, text); !reflect.DeepEqual(got, want[i]) {
				t.Errorf("%s: %s = %+v, want %+v", d, text, got, want[i])
			}
		}
	}
}

func raw(key string) map[string]json.RawMessage {
	return map[string]json.RawMessage{key: json.RawMessage("{}")}
}

func TestClientCapabilitiesAreWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		caps protocol.ClientCapabilities
		want [5]string
	}{
		{protocol.ClientCapabilities{}, [5]string{"{}", "", "", "", ""}},
		{protocol.ClientCapabilities{Elicitation: true}, [5]string{
			"{}", "", `{"elicitation":{}}`, `{"elicitation":{"form":{}}}`, "",
		}},
		{protocol.ClientCapabilities{ElicitURL: true}, [5]string{"{}", "", "", `{"elicitation":{"url":{}}}`, ""}},
		{protocol.ClientCapabilities{Sampling: true, SamplingTool: true}, [5]string{
			`{"sampling":{}}`, "", "", `{"sampling":{"tools":{}}}`, "",
		}},
		{protocol.ClientCapabilities{Tasks: true}, [5]string{
			"{}", "", "", `{"tasks":{"requests":{}}}`, `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`,
		}},
		{protocol.ClientCapabilities{Extensions: raw("io.modelcontextprotocol/tasks")}, [5]string{"{}", "", "", "", ""}},
		{protocol.ClientCapabilities{Extensions: raw("a/b"), Tasks: true}, [5]string{
			`{"extensions":{"a/b":{}}}`, "", "",
			`{"tasks":{"requests":{}},"extensions":{"a/b":{}}}`,
			`{"extensions":{"a/b":{},"io.modelcontextprotocol/tasks":{}}}`,
		}},
	} {
		checkPerRevision(t, c.want, func(d *dialect.Dialect) ([]byte, error) {
			return d.AppendClientCapabilities(nil, &c.caps), nil
		})
		if _, has := c.caps.Extensions["io.modelcontextprotocol/tasks"]; has && len(c.caps.Extensions) > 1 {
			t.Error("encoding changed the caller's map")
		}
	}
}

func TestServerCapabilitiesAreWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		caps protocol.ServerCapabilities
		want [5]string
	}{
		{protocol.ServerCapabilities{}, [5]string{"{}", "", "", "", ""}},
		{protocol.ServerCapabilities{Tools: true, ToolsListChanged: true, Prompts: true}, [5]string{
			`{"prompts":{},"tools":{"listChanged":true}}`, "", "", "", "",
		}},
		{protocol.ServerCapabilities{Completions: true, Logging: true}, [5]string{
			`{"logging":{}}`, `{"logging":{},"completions":{}}`, "", "", "",
		}},
		{protocol.ServerCapabilities{Tasks: true, TaskCancel: true, Extensions: raw("a/b")}, [5]string{
			`{"extensions":{"a/b":{}}}`, "", "",
			`{"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}},"extensions":{"a/b":{}}}`,
			`{"extensions":{"a/b":{},"io.modelcontextprotocol/tasks":{}}}`,
		}},
	} {
		checkPerRevision(t, c.want, func(d *dialect.Dialect) ([]byte, error) {
			return d.AppendServerCapabilities(nil, &c.caps), nil
		})
	}
}

// TestElicitationModesOfNull: modes that are null are absent. The object is then empty, and means forms.
func TestElicitationModesOfNull(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"elicitation":{"form":null}}`, `{"elicitation":{"form":null,"url":null}}`} {
		for _, d := range dialect.All() {
			if got := declared(t, d, text); got.Elicitation != d.Elicits() || got.ElicitURL {
				t.Errorf("%s: %s = %+v", d, text, got)
			}
		}
	}
}
