package profile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/framework/serve/surface/profile"
	"github.com/kagami-mcp/kagami/protocol"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tool protocol.Tool
		want string // profiles and places
	}{
		"plain":        {protocol.Tool{Name: "search", Title: "Search", InputSchema: []byte(`{"type":"object","properties":{"q":{"type":"string"}}}`)}, ""},
		"no title":     {protocol.Tool{Name: "search", InputSchema: []byte(`{"type":"object","properties":{}}`)}, "chatgpt tool search"},
		"dotted name":  {protocol.Tool{Name: "a.b", Title: "t"}, "claude-code tool a.b, openai tool a.b, chatgpt tool a.b"},
		"number first": {protocol.Tool{Name: "1st", Title: "t"}, "gemini tool 1st"},
		"long name":    {protocol.Tool{Name: strings.Repeat("x", 60), Title: "t"}, "gemini tool " + strings.Repeat("x", 60) + ", cursor tool " + strings.Repeat("x", 60)},
		"list of one":  {protocol.Tool{Name: "a", Title: "t", InputSchema: []byte(`{"type":"object","properties":{"n":{"type":["string"]}}}`)}, "gemini tool a, /n"},
		"argument": {
			protocol.Tool{Name: "a", Title: "t", InputSchema: []byte(`{"type":"object","properties":{"in":{"type":"object","properties":{"not so":{"type":"string"}}}}}`)},
			"claude-code tool a, /in/not so",
		},
		"root": {
			protocol.Tool{Name: "a", Title: "t", InputSchema: []byte(`{"type":"object","properties":{},"oneOf":[{"type":"object","properties":{}}]}`)},
			"claude-code tool a, oneOf, openai tool a, oneOf",
		},
		"keywords": {
			protocol.Tool{Name: "a", Title: "t", InputSchema: []byte(`{"type":"object","properties":{"n":{"type":["integer","null"],"exclusiveMinimum":0},"l":{"type":"array"},"x":{"description":"anything"},"u":{"anyOf":[{"type":"string"}]}}}`)},
			"claude-code tool a, /x, openai tool a, /l, openai tool a, /u, anyOf, gemini tool a, /n, exclusiveMinimum, gemini tool a, /n, gemini tool a, /x",
		},
		"no properties": {protocol.Tool{Name: "a", Title: "t", InputSchema: []byte(`{"type":"object"}`)}, "openai tool a, the root"},
		"reference": {
			protocol.Tool{Name: "a", Title: "t", InputSchema: []byte(`{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"string"}}}`)},
			"gemini tool a, /n, $ref",
		},
		"no schema": {protocol.Tool{Name: "a", Title: "t", InputSchema: []byte(`true`)}, ""},
	} {
		var got []string
		for _, f := range profile.Check(&surface.Surface{Server: protocol.Implementation{Name: "s"}, Tools: []protocol.Tool{tt.tool}}, "all") {
			got = append(got, f.Profile+" "+f.Where)
		}
		if text := strings.Join(got, ", "); text != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", name, text, tt.want)
		}
	}
}

// Of a whole server the counts matter, and each profile stands alone.
func TestCheckServer(t *testing.T) {
	t.Parallel()
	all := &surface.Surface{Instructions: strings.Repeat("é", 513), Tools: make([]protocol.Tool, 100)}
	for i := range all.Tools {
		all.Tools[i] = protocol.Tool{Name: "a", Title: "t"}
	}
	if got := profile.Check(all, "cursor", "vscode"); len(got) != 1 || got[0].String() != "cursor changed: 100 tools: 80 tools are used, of all servers together" {
		t.Errorf("%v", got)
	}
	if got := profile.Check(all, "chatgpt"); len(got) != 1 || got[0].Where != "instructions of 513 characters" {
		t.Errorf("%v", got)
	}
	if n := profile.Tokens(&protocol.Tool{Name: "abcd", Description: "éééé", InputSchema: []byte("{ \t\n }")}); n != 3 {
		t.Errorf("%d tokens", n)
	}
}

// Each rule can be looked up.
func TestRulesHaveSources(t *testing.T) {
	t.Parallel()
	names := profile.Names()
	for _, r := range profile.Rules() {
		if r.Source == "" || r.Seen == "" || r.What == "" || r.Level != profile.Refused && r.Level != profile.Changed || !slices.Contains(names, r.Profile) {
			t.Errorf("%+v", r)
		}
	}
}
