package main

import (
	"context"
	"errors"
	"flag"
	"testing"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/testkit"
)

var record = flag.Bool("record", false, "write the record that TestReplay replays")

func free(context.Context, string, string) error { return nil }

func newApp() *framework.App { return NewHotel(free).App() }

func TestFind(t *testing.T) {
	hotel := NewHotel(free)
	s := testkit.New(t, hotel.App())
	room, err := testkit.Call(s, hotel.Find, FindIn{City: "Oslo", Nights: 2})
	if err != nil || room.Price != 160 {
		t.Errorf("%+v, %v", room, err)
	}
	s.CallRaw("find", `{"city":"oslo"}`).IsError().Mentions("/city", `"Oslo"`)
}

func TestEverywhere(t *testing.T) {
	testkit.Matrix(t, newApp, func(t *testing.T, s *testkit.Session) {
		room, err := testkit.CallAs[FindOut](s, "find", FindIn{City: "Kyoto", Nights: 1})
		if err != nil || room.Room != "Kyoto 12" {
			t.Errorf("%+v, %v", room, err)
		}
	})
}

func TestBook(t *testing.T) {
	testkit.AllCarriers(t, newApp, func(_ *testing.T, s *testkit.Session) {
		s.OnElicit("Book Oslo 12?", true)
		s.CallRaw("book", `{"room":"Oslo 12"}`).OK().Mentions("is booked")
	})
}

func TestDecline(t *testing.T) {
	testkit.BothEras(t, newApp, func(_ *testing.T, s *testkit.Session) {
		s.OnElicit("Book Oslo 12?", testkit.Decline)
		s.CallRaw("book", `{"room":"Oslo 12"}`).IsError().Mentions("declined")
	})
}

func TestCrashes(t *testing.T) {
	charged := map[string]bool{}
	app := func() *framework.App {
		return NewHotel(func(_ context.Context, key, _ string) error { charged[key] = true; return nil }).App()
	}
	s := testkit.New(t, app)
	s.Chaos() // new server for each round, each round twice, a crash after each effect
	s.OnElicit("Book Oslo 12?", true)
	s.CallRaw("book", `{"room":"Oslo 12"}`).OK()
	if len(charged) != 1 {
		t.Errorf("charged %d times", len(charged))
	}
}

func TestTampering(t *testing.T) {
	r := testkit.New(t, newApp).Rounds("book", `{"room":"Oslo 12"}`)
	r.Tamper().Answer(true).Result().Code(-32602)
}

func TestTask(t *testing.T) {
	hotel := NewHotel(free)
	s := testkit.New(t, hotel.App())
	s.OnElicit("Book Oslo 12?", true)
	task := testkit.Start(s, hotel.Book, BookIn{Room: "Oslo 12"})
	if text, err := task.Await(); err != nil || text != "Oslo 12 is booked." {
		t.Errorf("%q, %v", text, err)
	}
}

func TestSurface(t *testing.T) {
	testkit.AllRevisions(t, newApp, func(_ *testing.T, s *testkit.Session) {
		s.Golden("tools")
	})
}

func TestContract(t *testing.T) { testkit.Contract(t, newApp, "mcp.lock") }

func TestMistakes(t *testing.T) { testkit.Mistakes(t, NewHotel(free).Find) }

func FuzzFind(f *testing.F) { testkit.FuzzTool(f, NewHotel(free).Find) }

func FuzzFindAgreement(f *testing.F) { testkit.FuzzAgreement(f, NewHotel(free).Find) }

func TestConformance(t *testing.T) { testkit.Conformance(t, newApp, "2026-07-28") }

func BenchmarkFind(b *testing.B) { testkit.Bench(b, NewHotel(free).Find, FindIn{City: "Oslo"}) }

func TestQuota(t *testing.T) {
	quota := framework.OnToolCall("quota", refuseAll)
	_, err := testkit.Chain(quota).Call(t.Context(), &framework.Call{Name: "find"})
	if !errors.Is(err, errQuota) {
		t.Errorf("%v", err)
	}
}

var errQuota = framework.UserErrorf("the quota is used up")

func refuseAll(context.Context, *framework.Call, framework.Next[*protocol.CallToolResult]) (*protocol.CallToolResult, error) {
	return nil, errQuota
}
