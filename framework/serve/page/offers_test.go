package page_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/page"
	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/framework/serve/surface/profile"
)

// TestTokens: the page and "kagami inspect" estimate the same cost of a tool.
func TestTokens(t *testing.T) {
	t.Parallel()
	say := framework.Tool("say", func(_ context.Context, in addIn) (sum, error) { return sum{in.A}, nil },
		framework.Describe("Says \"\\é\".\nThen it is \"quiet\".\n\n\"Really\"."))
	var offers struct {
		Tools []struct {
			Listed json.RawMessage
			Tokens int
		}
	}
	opened(t, page.Options{Host: host(t, say)}).ask(http.MethodGet, "/api/offers", "", &offers)
	all, entries := &surface.Surface{}, []json.RawMessage{}
	for _, tool := range offers.Tools {
		entries = append(entries, tool.Listed)
	}
	if err := all.Fill(surface.Tools, entries); err != nil || len(all.Tools) != 2 {
		t.Fatalf("%d tools, %v", len(all.Tools), err)
	}
	for i := range all.Tools {
		if got, want := offers.Tools[i].Tokens, profile.Tokens(&all.Tools[i]); got != want {
			t.Errorf("%s: the page has %d tokens, kagami inspect has %d", all.Tools[i].Name, got, want)
		}
	}
}
