package main

import (
	"slices"
	"testing"

	"github.com/kagami-mcp/kagami/testkit"
)

func TestReview(t *testing.T) {
	testkit.BothEras(t, NewApp, func(t *testing.T, s *testkit.Session) {
		s.Get("review", map[string]string{"code": "x := 1"}).OK().Mentions("go code at depth 2", "x := 1")
		s.Get("review", map[string]string{"code": "x", "depth": "9"}).IsError().Code(-32602)
		// Enums have completions automatically.
		if got := s.Complete("review", "language", "r", nil); !slices.Equal(got, []string{"rust"}) {
			t.Fatalf("completions of r: %v", got)
		}
	})
}

func TestFromStore(t *testing.T) {
	testkit.BothEras(t, NewApp, func(_ *testing.T, s *testkit.Session) {
		s.Get("standup", map[string]string{"who": "Ada", "since": "Monday"}).OK().Mentions("what Ada did since Monday", "A prize of $50 goes")
		s.Get("standup", map[string]string{"since": "Monday"}).IsError().Code(-32602)
	})
}
