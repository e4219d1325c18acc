package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/transport/inmem"
)

// TestBoard checks what hosts read, on every carrier. Before 2025-06-18 lists and contents have no
// _meta, so tools have no pages.
func TestBoard(t *testing.T) {
	testkit.Matrix(t, NewBoard, func(t *testing.T, s *testkit.Session) {
		s.CallRaw("show_orders", `{}`).OK().Mentions("a1")
		s.CallRaw("ship_order", `{"id":"a1"}`).OK()
		page := s.Read(boardURI).OK().Contents()
		if len(page) != 1 || page[0].URI != boardURI || page[0].MIME != uiType || page[0].Text != boardHTML {
			t.Fatalf("read %+v", page)
		}
		tools := s.Tools()
		if len(tools) != 1 { // a client that shows no pages sees one tool
			t.Fatalf("listed %+v", tools)
		}
		tool, contents := "map[resourceUri:ui://shop/board]", "map[csp:map[connectDomains:[https://api.example.com]] prefersBorder:true]"
		if earlier(t) {
			tool, contents = "<nil>", "<nil>"
		}
		if got := fmt.Sprint(tools[0].Meta["ui"]); got != tool {
			t.Errorf("the tool has %s, want %s", got, tool)
		}
		if got := fmt.Sprint(page[0].Meta["ui"]); got != contents {
			t.Errorf("the page has %s, want %s", got, contents)
		}
		if listed := s.Resources(); len(listed) != 1 || listed[0].MIME != uiType {
			t.Errorf("listed %+v", listed)
		}
	})
}

// earlier reports whether the subtest runs on a revision without _meta in lists.
func earlier(t *testing.T) bool {
	return strings.Contains(t.Name(), protocol.Rev20241105.String()) || strings.Contains(t.Name(), protocol.Rev20250326.String())
}

// TestBoardForPages checks that a client that shows pages sees the tools for pages.
func TestBoardForPages(t *testing.T) {
	t.Parallel()
	const shows = `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`
	for _, rev := range protocol.Revisions() {
		for capabilities, want := range map[string]int{shows: 2, `{}`: 1, `{"extensions":{"io.modelcontextprotocol/ui":{}}}`: 1} {
			if got := listedTools(t, rev, capabilities); got != want {
				t.Errorf("%s: a client with %s sees %d tools, want %d", rev, capabilities, got, want)
			}
		}
	}
}

// listedTools returns how many tools a client with these capabilities sees.
func listedTools(t *testing.T, rev protocol.Revision, capabilities string) int {
	t.Helper()
	server, err := NewBoard().Build()
	if err != nil {
		t.Fatal(err)
	}
	conn := inmem.Dial(t.Context(), server)
	defer func() { _ = conn.Close() }()
	type list struct {
		Result struct{ Tools []json.RawMessage }
	}
	ask := func(id int, method, params string) (answer list) {
		frame := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
		if err := conn.Write(t.Context(), []byte(frame)); err != nil {
			t.Fatal(err)
		}
		got, err := conn.Read(t.Context())
		if err == nil {
			err = json.Unmarshal(got, &answer)
		}
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	params := "{}"
	if rev == protocol.Rev20260728 {
		params = fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":%s}}`, rev, capabilities)
	} else {
		ask(1, "initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"x","version":"1"}}`, rev, capabilities))
	}
	return len(ask(2, "tools/list", params).Result.Tools)
}
