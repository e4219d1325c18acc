package main

import (
	"testing"

	"github.com/kagami-mcp/kagami/testkit"
)

func TestSend(t *testing.T) {
	testkit.AllRevisions(t, NewSender, func(_ *testing.T, s *testkit.Session) {
		s.CallRaw("send", `{"to":{"kind":"pickup","store":"Oslo"}}`).OK().Mentions("store Oslo")
		s.CallRaw("send", `{"to":{"kind":"delivery","postcode":"1234 AB"}}`).OK().Mentions("1234 AB")
		s.CallRaw("send", `{"to":{"kind":"delivery","postcode":"x"}}`).IsError().Mentions("a Dutch postcode")
	})
}
