package main

import (
	"context"
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
)

func TestBook(t *testing.T) {
	held := 0
	app := NewApp(&Hotels{Hold: func(_ context.Context, key, _ string) (string, error) {
		held++
		if key == "" {
			t.Error("the effect has no idempotency key")
		}
		return "H1", nil
	}})
	testkit.BothEras(t, app, func(t *testing.T, s *testkit.Session) {
		held = 0
		s.OnElicit("Who is staying", Guest{Name: "Ada", Nights: 2, Room: "double"})
		s.OnElicit("Book a double room for 2 nights?", true)
		s.CallRaw("book", `{"hotel":"Ritz"}`).OK().Mentions("Booked for Ada, hold H1.")
		if held != 1 {
			t.Errorf("%d rooms are on hold", held)
		}
		s.OnElicit("Who is staying", Guest{Name: "Ada", Nights: 1, Room: "single"})
		s.OnElicit("Book a single room", testkit.Decline)
		s.CallRaw("book", `{"hotel":"Ritz"}`).OK().Mentions("Nothing was booked.")
		s.OnElicit("Who is staying", testkit.Cancel)
		s.CallRaw("book", `{"hotel":"Ritz"}`).IsError()
	})
}

func TestCompare(t *testing.T) {
	testkit.BothEras(t, NewApp(&Hotels{}), func(_ *testing.T, s *testkit.Session) {
		s.OnElicit("What may a night cost?", 120)
		s.OnSample("good hotel", "yes")
		s.CallRaw("compare", `{"hotel":"Ritz"}`).OK().Mentions("Up to 120 a night; the model says yes.")
	})
}

func TestAdvise(t *testing.T) {
	testkit.BothEras(t, NewApp(&Hotels{}), func(_ *testing.T, s *testkit.Session) {
		s.OnSampleTools(
			testkit.Turn{Uses: []protocol.ToolUse{
				{Name: "price", Input: []byte(`{"room":"single"}`)},
				{Name: "price", Input: []byte(`{"room":"double"}`)},
			}},
			testkit.Turn{Reply: "The double room, for 120."},
		)
		s.CallRaw("advise", `{"hotel":"Ritz"}`).OK().Mentions("The double room")
	})
}
