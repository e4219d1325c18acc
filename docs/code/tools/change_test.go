package main

import (
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/testkit"
)

func TestLookup(t *testing.T) {
	app := framework.New("lookup", "1.0.0").Add(
		framework.Tool("lookup", Lookup, framework.Describe("Look up words.")),
		framework.Tool("search", Lookup, framework.Describe("Deprecated: use lookup."), framework.Hidden()))
	testkit.AllRevisions(t, app, func(t *testing.T, s *testkit.Session) {
		for _, tool := range []string{"lookup", "search"} {
			s.CallRaw(tool, `{"words":"tea"}`).OK().Mentions("tea")
			s.CallRaw(tool, `{"query":"tea"}`).OK().Mentions("tea")
			s.CallRaw(tool, `{"words":"tea","query":"tea"}`).IsError().Mentions("/query", `{"words":"tea"}`)
			s.CallRaw(tool, `{}`).IsError().Mentions("/words: missing", `{"words":`)
		}
		if tools := s.Tools(); len(tools) != 1 {
			t.Errorf("%+v", tools)
		}
	})
}
