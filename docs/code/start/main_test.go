package main

import (
	"testing"

	"github.com/kagami-mcp/kagami/testkit"
)

func TestGreet(t *testing.T) {
	testkit.AllRevisions(t, NewApp, func(_ *testing.T, s *testkit.Session) {
		s.CallRaw("greet", `{"name":"Ada"}`).OK().Mentions("Hello, Ada!")
		s.CallRaw("greet", `{"nome":"Ada"}`).IsError().Mentions("Did you mean", "name")
	})
}
