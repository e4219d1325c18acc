package interop_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/testkit/interop/ported"
)

// TestPorted asks the server of docs/porting.md the same in all three frameworks: what
// the guide says is the same is the same, and what it says differs does.
func TestPorted(t *testing.T) {
	for _, name := range []string{"go-sdk", "mcp-go", "kagami"} {
		for _, rev := range []protocol.Revision{protocol.Rev20250618, protocol.Rev20251125, protocol.Rev20260728} {
			t.Run(name+"/"+rev.String(), func(t *testing.T) {
				t.Parallel()
				p := &portedPeer{name: name}
				p.connect(t, rev)
				p.same(t)
				p.different(t, rev)
			})
		}
	}
}

// portedPeer is our client of one of the three.
type portedPeer struct {
	*client.Client
	name string
}

func (p *portedPeer) connect(t *testing.T, rev protocol.Revision) {
	t.Helper()
	notes := ported.Notes{"milk": "Buy milk.", "moon": "Fly to the moon."}
	observe := func(string, time.Duration) {}
	to := client.Command(exec.CommandContext(t.Context(), porting))
	switch p.name {
	case "go-sdk":
		s := ported.GoSDK(notes, observe)
		web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
			&mcp.StreamableHTTPOptions{Stateless: rev == protocol.Rev20260728})) // it serves that revision in no other way
		t.Cleanup(web.Close)
		to = client.HTTP(web.URL)
	case "mcp-go":
		web := httptest.NewServer(server.NewStreamableHTTPServer(ported.MCPGo(notes, observe)))
		t.Cleanup(web.Close)
		to = client.HTTP(web.URL)
	}
	c, err := client.Connect(t.Context(), to, client.Revisions(rev), client.OnElicit(
		func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
			return &client.ElicitAnswer{Action: "accept", Content: map[string]any{"value": true}}, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	p.Client = c
}

// call is the text of a result and its structured content; failed says that it is an
// isError result or err that it is none.
func (p *portedPeer) call(t *testing.T, name, arguments string) (text, structured string, failed bool, err error) {
	t.Helper()
	r, err := p.CallTool(t.Context(), name, json.RawMessage(arguments))
	if err != nil {
		return "", "", true, err
	}
	for _, b := range r.Content {
		if block, ok := b.(protocol.Text); ok {
			text += block.Text
		}
	}
	return text, string(r.Structured), r.IsError, nil
}

// same are the answers that all three give.
func (p *portedPeer) same(t *testing.T) {
	t.Helper()
	for _, tt := range []struct {
		tool, arguments, text, structured string
		fails                             bool
	}{
		{tool: "search", arguments: `{"query":"moon"}`, text: `{"names":["moon"]}`, structured: `{"names":["moon"]}`},
		{tool: "search", arguments: `{"query":"moon","limit":0}`, fails: true},
		{tool: "search", arguments: `{"query":5}`, fails: true},
		{tool: "search", arguments: `{}`, fails: true},
		{tool: "index", arguments: `{}`, text: "milkmoon"},
		{tool: "forward", arguments: `{"a":1}`, text: `{"a":1}`},
		{tool: "remove", arguments: `{"name":"x"}`, text: `there is no note "x"`, fails: true},
		{tool: "remove", arguments: `{"name":"milk"}`, text: "Removed."},
		{tool: "remove", arguments: `{"name":"milk"}`, text: `there is no note "milk"`, fails: true},
	} {
		text, structured, failed, err := p.call(t, tt.tool, tt.arguments)
		if tt.text != "" && text != tt.text || structured != tt.structured || failed != tt.fails {
			t.Errorf("%s %s: %q, %s, failed: %t (%v)", tt.tool, tt.arguments, text, structured, failed, err)
		}
	}
	r, err := p.ReadResource(t.Context(), "notes://moon")
	if err != nil || len(r.Contents) != 1 || r.Contents[0].Text != "Fly to the moon." || r.Contents[0].MIME != "text/plain" {
		t.Errorf("read: %+v, %v", r, err)
	}
	offered, err := p.Complete(t.Context(), &protocol.CompleteParams{Template: "notes://{name}", Argument: "name", Value: "mo"})
	if err != nil || !slices.Equal(offered.Values, []string{"moon"}) {
		t.Errorf("completion: %+v, %v", offered, err)
	}
	prompt, err := p.GetPrompt(t.Context(), "review", map[string]string{"name": "moon"})
	if err != nil || len(prompt.Messages) != 1 || prompt.Messages[0].Content.(protocol.Text).Text != "Review this note: Fly to the moon." {
		t.Errorf("prompt: %+v, %v", prompt, err)
	}
	reported := 0
	_, err = p.CallTool(t.Context(), "index", nil, client.OnProgress(func(protocol.Progress) { reported++ }))
	if err != nil || reported == 0 && p.name != "mcp-go" { // mcp-go may send the answer before the progress
		t.Errorf("%d reports of progress, %v", reported, err)
	}
}

// different is what the guide says of each.
func (p *portedPeer) different(t *testing.T, rev protocol.Revision) {
	t.Helper()
	for _, tt := range []struct {
		tool, arguments string
		refused         map[string]bool
	}{
		{"search", `{"query":"moon","cursor":1}`, map[string]bool{"go-sdk": true, "kagami": true}},
		{"search", `{"query":"moon","limit":"5"}`, map[string]bool{"go-sdk": true}},
		{"forward", `{"a":"x"}`, map[string]bool{"kagami": true}},
		{"forward", `{}`, map[string]bool{"kagami": true}},
	} {
		if _, _, failed, err := p.call(t, tt.tool, tt.arguments); failed != tt.refused[p.name] {
			t.Errorf("%s %s: failed: %t (%v)", tt.tool, tt.arguments, failed, err)
		}
	}
	none := map[bool]string{true: `{"names":[]}`, false: `{"names":null}`}[p.name == "kagami"]
	if _, structured, _, _ := p.call(t, "search", `{"query":"none"}`); structured != none {
		t.Errorf("nothing found is %s, want %s", structured, none)
	}
	_, _, _, err := p.call(t, "search", `{}`)
	if asError := p.name == "kagami" && rev == protocol.Rev20250618; (err != nil) != asError {
		t.Errorf("missing argument: %v", err)
	}
	if _, err := p.GetPrompt(t.Context(), "review", nil); (err != nil) != (p.name == "kagami") {
		t.Errorf("prompt without arguments: %v", err)
	}
}
