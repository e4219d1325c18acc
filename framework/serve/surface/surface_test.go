package surface_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func full() *surface.Surface {
	return &surface.Surface{
		Parts:  surface.All,
		Server: protocol.Implementation{Name: "shop", Version: "2.0"}, Revision: "2026-07-28",
		Instructions: "Sells things.",
		Tools: []protocol.Tool{
			{
				Name: "search", Title: "Search <all>", Description: "Finds things.\nFast.",
				InputSchema: json.RawMessage(`{"type":"object","required":["query"],"properties":{
					"query":{"type":"string","description":"what to\n find","minLength":2},
					"sort":{"enum":["price","name"],"default":"name"},
					"limit":{"type":"integer","minimum":1,"maximum":100},
					"weight":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":9.5},
					"tags":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":1},
					"when":{"type":"string","format":"date-time"},
					"code":{"type":"string","minLength":3,"maxLength":3},
					"big":{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807},
					"maybe":{"type":["null","string"]},
					"either":{"anyOf":[{"type":"integer"},{"type":"string"}]},
					"raw":{},
					"from":{"$ref":"#/$defs/place","description":"where to look"},
					"points":{"type":"array","items":{"$ref":"#/$defs/place"}}
				},"$defs":{"place":{"type":"object","description":"a place","required":["x"],
					"properties":{"x":{"type":"integer"},"next":{"$ref":"#/$defs/place"}}}}}`),
				OutputSchema: json.RawMessage(`{"type":"array","items":{"type":"string"},"description":"names"}`),
				Annotations:  protocol.ToolAnnotations{ReadOnly: new(true), Destructive: new(false), Idempotent: new(false), OpenWorld: new(true)},
			},
			{
				Name: "count", InputSchema: json.RawMessage(`{"type":"object"}`),
				OutputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
			},
			{Name: "odd", InputSchema: json.RawMessage(`{"type":"object","properties":[]}`)},
		},
		Resources: []protocol.Resource{{URI: "shop://all", Name: "all", Title: "All things", MIME: "application/json", Description: "Everything."}},
		Templates: []protocol.ResourceTemplate{{URITemplate: "shop://{id}", Name: "one"}},
		Prompts: []protocol.Prompt{{Name: "ask", Description: "Asks.", Arguments: []protocol.PromptArgument{
			{Name: "topic", Description: "what about", Required: true}, {Name: "tone"},
		}}},
	}
}

func TestWriteText(t *testing.T) {
	t.Parallel()
	part := full()
	part.Parts, part.Tools, part.Prompts = surface.Resources|surface.Templates, nil, nil
	for name, s := range map[string]*surface.Surface{
		"full": full(), "part": part,
		"empty": {Parts: surface.All, Server: protocol.Implementation{Name: "x", Version: "1"}, Revision: "2025-11-25"},
		"none":  {Parts: surface.Tools},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := s.WriteText(&out); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".txt", out.Bytes())
		})
	}
}

func TestWriteJSON(t *testing.T) {
	t.Parallel()
	s := full()
	s.Tools = s.Tools[:2]
	tools := full()
	tools.Parts, tools.Tools, tools.Instructions = surface.Tools, tools.Tools[1:2], ""
	for name, s := range map[string]*surface.Surface{"full": s, "tools": tools} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := s.WriteJSON(&out); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".json", out.Bytes())
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s\n--- got\n%s--- want\n%s", path, got, want)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	none := func(context.Context, struct{}) (string, error) { return "", nil }
	app := framework.New("shop", "2.0", framework.WithPageSize(1)).Add(
		framework.Tool("a", none), framework.Tool("b", none), framework.Tool("c", none))
	server, err := app.Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, rev := range protocol.Revisions() {
		c, err := client.Connect(t.Context(), client.InMemory(server), client.Revisions(rev))
		if err != nil {
			t.Fatal(err)
		}
		got, err := surface.Read(t.Context(), c, surface.All)
		if err != nil {
			t.Fatalf("%s: %v", rev, err)
		}
		var names []string
		for _, tool := range got.Tools {
			names = append(names, tool.Name)
		}
		// Prompts are not asked for: the server says that it has none.
		if !slices.Equal(names, []string{"a", "b", "c"}) || got.Revision != rev.String() || got.Server.Name != "shop" || got.Prompts != nil {
			t.Errorf("%s: %+v", rev, got)
		}
		if got, err := surface.Read(t.Context(), c, surface.Prompts); err != nil || got.Tools != nil {
			t.Errorf("%s: prompts only: %+v, %v", rev, got, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
