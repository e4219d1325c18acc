package main

import (
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/mcpfx/mcpfxtest"
	"github.com/kagami-mcp/kagami/testkit"
)

func app(t testing.TB) *framework.App {
	return mcpfxtest.App(t, program())
}

func TestAddNote(t *testing.T) {
	testkit.BothEras(t, app, func(_ *testing.T, s *testkit.Session) {
		s.CallRaw("add_note", `{"text":"Buy tea"}`).OK().Mentions(`"notes":1`)
		s.CallRaw("add_note", `{"text":""}`).IsError().Mentions("/text")
	})
}

// A test may replace what the fx graph provides.
func TestWithAnotherDatabase(t *testing.T) {
	full := &Database{notes: make([]string, 41)}
	s := testkit.New(t, mcpfxtest.App(t, program(), mcpfxtest.Replace[*Database](full)))
	s.CallRaw("add_note", `{"text":"Buy tea"}`).OK().Mentions(`"notes":42`)
}
