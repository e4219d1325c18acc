package surface_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
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
					"sku":{"type":"string","pattern":"^[A-Z]{3}$"},
					"long":{"type":"string","pattern":"^(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})$"},
					"changes":{"type":"array","items":{"type":"object","oneOf":[
						{"type":"object","required":["op"],"properties":{"op":{"type":"string","const":"retitle"},"title":{"type":"string"}}},
						{"type":"object","required":["op"],"properties":{"op":{"type":"string","const":"move"},"to":{"type":"integer"}}}]}},
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
			{Name: "odd", InputSchema: json.RawMessage(`{"type":"object","properties":["a"]}`)},
		},
		Resources: []protocol.Resource{{URI: "shop://all", Name: "all", Title: "All things", MIME: "application/json", Description: "Everything."}},
		Templates: []protocol.ResourceTemplate{{URITemplate: "shop://{id}", Name: "one"}},
		Prompts: []protocol.Prompt{{Name: "ask", Description: "Asks.", Arguments: []protocol.PromptArgument{
			{Name: "topic", Description: "what about", Required: true}, {Name: "tone"},
		}}},
	}
}

// known is what a server says of itself.
func known() *surface.Inside {
	own := []surface.Step{{Name: "recovery", Origin: "engine"}, {Name: "scopes", Origin: "engine"}}
	app := append(own[:2:2], surface.Step{Name: "trace", Origin: "app", Phase: "trace"})
	return &surface.Inside{
		Components: []surface.Component{
			{
				Kind: "tool", Name: "search", Group: "shop", Scopes: []string{"read", "find"}, Function: "(*Shop).Search",
				Where: "shop/shop.go:12", Added: "shop/main.go:7",
				Chain: append(app[:3:3], surface.Step{Name: "rate-limit", Origin: "group", Phase: "limit", PerCall: true}, surface.Step{Name: "own <&>", Origin: "component", Phase: "app"}),
			},
			{Kind: "tool", Name: "count", Function: "main.func1", Added: "shop/main.go:7", Chain: app},
			{Kind: "resource", Name: "shop://all", Where: "shop/main.go:7", Added: "shop/main.go:7", Chain: app},
			{Kind: "template", Name: "shop://{id}", Chain: own},
			{Kind: "prompt", Name: "ask", Where: "shop/ask.go:1", Chain: app},
			{Kind: "prompt", Name: "hidden", Hidden: true, Where: "shop/ask.go:9", Chain: app},
			{Kind: "method", Name: "example.com/m", Scopes: []string{"admin"}, Chain: app},
		},
		Lists: app,
	}
}

// What was written is read back, but for what a list of the newest revision lacks.
func TestParse(t *testing.T) {
	t.Parallel()
	s := full()
	s.Tools, s.Inside = s.Tools[:2], known()
	s.Server.Title, s.Server.Description, s.Server.WebsiteURL = "The shop", "Sells.", "https://shop.example"
	s.Server.Icons = []protocol.Icon{{Src: "https://shop.example/i.png"}}
	var doc, again bytes.Buffer
	if err := s.WriteJSON(&doc); err != nil {
		t.Fatal(err)
	}
	back, err := surface.Parse(doc.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := back.WriteJSON(&again); err != nil || !bytes.Equal(doc.Bytes(), again.Bytes()) || back.Parts != surface.All {
		t.Errorf("%v\n%s\nwant\n%s", err, again.Bytes(), doc.Bytes())
	}
	for _, bad := range []string{
		``, `[]`, `{}`, `{"server":{"name":"x"}}`, `{"server":7,"revision":"y"}`, `{"server":{"name":7},"revision":"y"}`, `{"server":{"name":"x"},"revision":"y","tools":7}`,
		`{"server":{"name":"x"},"revision":"y","prompts":[{"name":7}]}`, `{"problems":1,"faults":[]}`,
	} {
		if got, err := surface.Parse([]byte(bad)); err == nil {
			t.Errorf("%s is %+v", bad, got)
		}
	}
}

func TestWriteText(t *testing.T) {
	t.Parallel()
	inside := full()
	inside.Inside = known()
	chains := full()
	chains.Inside, chains.Chains = known(), true
	part := full()
	part.Parts, part.Tools, part.Prompts = surface.Resources|surface.Templates, nil, nil
	for name, s := range map[string]*surface.Surface{
		"full": full(), "part": part, "inside": inside, "chains": chains,
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

// A schema of some kilobytes may have more members, types and text than anybody can read.
func TestWriteTextIsBounded(t *testing.T) {
	t.Parallel()
	const levels, wide = 5, 100
	layers := func(open, each, end string) string {
		var defs []string
		for level := range levels {
			var inner []string
			for i := range wide {
				inner = append(inner, fmt.Sprintf(each, i, level+1))
			}
			defs = append(defs, fmt.Sprintf(`"d%d":%s%s%s`, level, open, strings.Join(inner, ","), end))
		}
		return fmt.Sprintf(`{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{%s,"d%d":{"type":"string"}}}`, strings.Join(defs, ","), levels)
	}
	for name, schema := range map[string]string{
		"members":      layers(`{"type":"object","properties":{`, `"p%d":{"$ref":"#/$defs/d%d"}`, `}}`),
		"alternatives": layers(`{"anyOf":[`, `{"title":"%d","$ref":"#/$defs/d%d"}`, `]}`),
		"a long name":  `{"type":"object","properties":{"` + strings.Repeat("x", 1<<20) + `":{"type":"string"},` + strings.Repeat(`"b":{"description":"b","enum":["`+strings.Repeat("x", 1<<10)+`"]},`, 1000) + `"c":{}}}`,
	} {
		var out bytes.Buffer
		s := &surface.Surface{Parts: surface.Tools, Tools: []protocol.Tool{{Name: "x", InputSchema: json.RawMessage(schema)}}}
		if err := s.WriteText(&out); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if out.Len() > 1<<20 || name == "members" && !strings.HasSuffix(out.String(), "      …\n") {
			t.Errorf("%s: %d bytes, the last %q", name, out.Len(), out.Bytes()[max(0, out.Len()-50):])
		}
	}
}

func TestWriteJSON(t *testing.T) {
	t.Parallel()
	s := full()
	s.Tools = s.Tools[:2]
	tools := full()
	tools.Parts, tools.Tools, tools.Instructions = surface.Tools, tools.Tools[1:2], ""
	inside := full()
	inside.Parts, inside.Tools, inside.Inside = surface.Tools, tools.Tools, known()
	for name, s := range map[string]*surface.Surface{"full": s, "tools": tools, "inside": inside} {
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

// A server of fastmcp 3 has resources, and knows no list of templates where it has none.
func TestReadWithoutTemplates(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"initialize":               `"result":{"protocolVersion":"2025-06-18","capabilities":{"resources":{},"logging":{}},"serverInfo":{"name":"fm","version":"1.0.0"}}`,
		"resources/list":           `"result":{"resources":[{"uri":"file:///x","name":"x","mimeType":"text/plain"}]}`,
		"resources/templates/list": `"error":{"code":-32601,"message":"MCP error -32601: Method not found"}`,
	}
	got, err := surface.Read(t.Context(), answering(t, answers), surface.All)
	if err != nil || len(got.Resources) != 1 || got.Templates != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestReadWithoutLists: many servers declare what they do not have. Their other lists can be read.
func TestReadWithoutLists(t *testing.T) {
	t.Parallel()
	const unknown = `"error":{"code":-32601,"message":"Method not found"}`
	c := answering(t, map[string]string{
		"initialize":     `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"s","version":"1.0.0"}}`,
		"tools/list":     `"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`,
		"resources/list": unknown, "resources/templates/list": unknown, "prompts/list": unknown,
	})
	if got, err := surface.Read(t.Context(), c, surface.All); err != nil || len(got.Tools) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := surface.Read(t.Context(), c, surface.Prompts); err == nil || !strings.Contains(err.Error(), "listing prompts: prompts/list: Method not found") {
		t.Errorf("only prompts: %+v, %v", got, err)
	}
}

// TestReadRepeatedCursor: a server that ignores the cursor, and sends one with each page, has no end.
func TestReadRepeatedCursor(t *testing.T) {
	t.Parallel()
	c := answering(t, map[string]string{
		"initialize": `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1.0.0"}}`,
		"tools/list": `"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"x"}`,
	})
	if got, err := surface.Entries(t.Context(), c, protocol.MethodListTools, "tools"); err == nil || !strings.Contains(err.Error(), "repeats the cursor") {
		t.Errorf("%d tools, %v", len(got), err)
	}
}

// TestReadEmptyCursor: some servers write "" for no cursor, and read it as none.
func TestReadEmptyCursor(t *testing.T) {
	t.Parallel()
	c := answering(t, map[string]string{
		"initialize": `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1.0.0"}}`,
		"tools/list": `"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":""}`,
	})
	if got, err := surface.Entries(t.Context(), c, protocol.MethodListTools, "tools"); err != nil || len(got) != 1 {
		t.Errorf("%d tools, %v", len(got), err)
	}
}

// TestReadEndlessPages: a server that sends new pages for ever does not fill the memory.
func TestReadEndlessPages(t *testing.T) {
	t.Parallel()
	c := answering(t, map[string]string{
		"initialize":   `"result":{"protocolVersion":"2025-06-18","capabilities":{"prompts":{}},"serverInfo":{"name":"s","version":"1.0.0"}}`,
		"prompts/list": `"result":{"prompts":[{"name":"a","description":"` + strings.Repeat("x", 3<<20) + `"}],"nextCursor":"{n}"}`,
	})
	if _, err := surface.Read(t.Context(), c, surface.Prompts); err == nil || !strings.Contains(err.Error(), "listing prompts: the list has more than 64 MiB") {
		t.Error(err)
	}
	if _, err := surface.Entries(t.Context(), c, protocol.MethodListPrompts, "prompts"); err == nil || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Error(err)
	}
}

// answering connects to a server that answers each method with one text. In it, "{n}" is a number that
// grows with each request.
func answering(t *testing.T, answers map[string]string) *client.Client {
	t.Helper()
	var n atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, strings.Replace(answers[m.Method], "{n}", fmt.Sprint(n.Add(1)), 1))
	}))
	t.Cleanup(web.Close)
	c, err := client.Connect(t.Context(), client.HTTP(web.URL), client.Revisions(protocol.Rev20250618))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
