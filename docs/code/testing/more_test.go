package main

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/mcpfx"
	"github.com/kagami-mcp/kagami/framework/mcpfx/mcpfxtest"
	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/middleware/auth"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/session"
	"github.com/kagami-mcp/kagami/testkit"
	"github.com/kagami-mcp/kagami/testkit/storetest"
	"github.com/kagami-mcp/kagami/testkit/transporttest"
	"github.com/kagami-mcp/kagami/transport"
	"github.com/kagami-mcp/kagami/transport/inmem"
)

func TestReadGetAndList(t *testing.T) {
	testkit.AllRevisions(t, newApp, func(t *testing.T, s *testkit.Session) {
		s.Read("hotel://menu").OK().Mentions("fish")
		s.Get("welcome", map[string]string{"city": "Rome"}).OK().Mentions("from Rome")
		if tools := s.Tools(); len(tools) != 4 || tools[0].Name != "find" {
			t.Errorf("%+v", tools)
		}
		if len(s.Resources()) != 1 || len(s.Prompts()) != 1 {
			t.Errorf("%+v, %+v", s.Resources(), s.Prompts())
		}
	})
}

func TestWire(t *testing.T) {
	s := testkit.New(t, newApp, testkit.At(protocol.Rev20251125))
	s.Raw(`{"jsonrpc":"2.0","id":1,"method":"hotel/none"}`).Code(-32601)
	if got := s.Complete("welcome", "city", "Ky", nil); len(got) != 1 || got[0] != "Kyoto" {
		t.Errorf("%q", got)
	}
}

func TestModel(t *testing.T) {
	testkit.BothEras(t, newApp, func(_ *testing.T, s *testkit.Session) {
		s.OnSample("What is there to see in Oslo?", "The fjord.")
		s.CallRaw("advise", `{"city":"Oslo"}`).OK().Mentions("fjord")
	})
	s := testkit.New(t, newApp, testkit.Without("sampling"))
	s.CallRaw("advise", `{"city":"Oslo"}`).IsError()
}

func TestNotifications(t *testing.T) {
	testkit.AllCarriers(t, newApp, func(t *testing.T, s *testkit.Session) {
		s.LogLevel("info")
		s.CallRaw("clean", `{"floor":2}`).OK()
		s.InOrder("notifications/progress room 21", "notifications/progress room 23", "notifications/message clean")
		if p := s.Progress(); len(p) != 3 || p[2].Done != 3 {
			t.Errorf("%+v", p)
		}

		s.Subscribe("hotel://menu")
		s.Server().ResourceUpdated(s.Context(), "hotel://menu")
		s.AwaitNotification("notifications/resources/updated")

		s.Server().RemoveTools("advise")
		s.Eventually("there is no advice", func() bool { return len(s.Tools()) == 3 })
	}, testkit.Virtual(), testkit.Timeout(24*time.Hour))
}

func TestWorkerDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hotel := NewHotel(free)
		s := testkit.New(t, hotel.App())
		task := testkit.Start(s, hotel.Clean, CleanIn{Floor: 3})
		s.Advance(time.Hour)
		task.Crash()
		task.Resume()
		s.Advance(4 * time.Hour)
		if text, err := task.Await(); err != nil || text != "Floor 3 is clean." {
			t.Errorf("%q, %v", text, err)
		}
		s.Advance(24 * time.Hour)
		task.AwaitStatus(testkit.TaskGone)
	})
}

func TestBadCarriers(t *testing.T) {
	testkit.Matrix(t, newApp, func(_ *testing.T, s *testkit.Session) {
		s.CallRaw("find", `{"city":"Oslo"}`).OK().Mentions("Oslo 12")
	}, testkit.Faults(7))
}

func TestReplay(t *testing.T) {
	const path = "testdata/booking.record"
	if *record { // go test -run TestReplay -record
		s := testkit.New(t, newApp, testkit.Redact("room"))
		s.Record(path)
		s.OnElicit("Book", true)
		s.CallRaw("book", `{"room":"Oslo 12"}`).OK()
		return
	}
	testkit.Replay(t, newApp, path)
}

func TestCaller(t *testing.T) {
	s := testkit.New(t, guarded, testkit.User("bob"))
	s.CallRaw("close", "").IsError()
	s.As("ada", "rooms:write").CallRaw("close", "").OK().Mentions("by ada")
}

// guarded returns an app with a tool that needs a scope.
func guarded() *framework.App {
	return newApp().Add(framework.Tool("close", func(ctx context.Context, _ struct{}) (string, error) {
		return "Closed by " + framework.Caller(ctx).Principal.Subject, nil
	}, framework.Describe("Close the hotel."), framework.Scopes("rooms:write")))
}

func TestTokens(t *testing.T) {
	const hotel = "https://hotel.example.com/mcp"
	idp := testkit.IdP(t)
	guard := &auth.JWT{Issuer: idp.URL(), Audience: hotel}
	if p, err := guard.Verify(t.Context(), idp.Token("ada", hotel, time.Hour, "rooms:write")); err != nil || p.Subject != "ada" {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := guard.Verify(t.Context(), idp.Token("ada", "https://elsewhere.example.com", time.Hour)); err == nil {
		t.Error("a token for another server is accepted")
	}
	idp.Rotate() // later tokens are signed with another key
	if _, err := guard.Verify(t.Context(), idp.Token("ada", hotel, time.Hour)); err != nil {
		t.Error(err)
	}
}

func TestOverHTTP(t *testing.T) {
	idp := testkit.IdP(t)
	url := testkit.Serve(t, func(url string) *framework.App {
		guard := auth.Bearer(&auth.JWT{Issuer: idp.URL(), Audience: url}, auth.Resource(url))
		return NewHotel(free).App(framework.WithAuth(guard))
	})
	find := func(token string) error {
		c, err := client.Connect(t.Context(), client.HTTP(url, client.BearerToken(func(context.Context) (string, error) { return token, nil })))
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		_, err = c.CallTool(t.Context(), "find", FindIn{City: "Oslo"})
		return err
	}
	if err := find(idp.Token("ada", url, time.Hour)); err != nil {
		t.Error(err)
	}
	for _, token := range []string{"", idp.Token("ada", url, -time.Hour), idp.Token("ada", "https://elsewhere.example.com", time.Hour)} {
		refused, ok := errors.AsType[*client.HTTPError](find(token))
		if !ok || refused.Status != http.StatusUnauthorized {
			t.Errorf("token %q: %v", token, refused)
		}
	}
}

func TestRevocation(t *testing.T) {
	const hotel = "https://hotel.example.com/mcp"
	idp := testkit.IdP(t)
	endpoint, id, secret := idp.Introspection()
	guard := &auth.Introspection{Endpoint: endpoint, ClientID: id, ClientSecret: secret, Audience: hotel, TTL: -1}
	token := idp.Token("ada", hotel, time.Hour)
	if _, err := guard.Verify(t.Context(), token); err != nil {
		t.Error(err)
	}
	idp.Revoke(token)
	if _, err := guard.Verify(t.Context(), token); err == nil {
		t.Error("a token that was revoked is good")
	}
}

// Till takes the money for a room.
type Till interface {
	Charge(ctx context.Context, key, room string) error
}

// Rooms is a provider of tools for package mcpfx.
type Rooms struct{ till Till }

// NewRooms returns a hotel that charges with till.
func NewRooms(t Till) *Rooms { return &Rooms{t} }

// Components returns the tools and other components of the hotel.
func (r *Rooms) Components() []framework.Component {
	return []framework.Component{NewHotel(r.till.Charge).Book}
}

type fakeTill map[string]bool

func (f fakeTill) Charge(_ context.Context, key, _ string) error {
	f[key] = true
	return nil
}

func TestReplaced(t *testing.T) {
	till := fakeTill{}
	s := testkit.New(t, func(t testing.TB) *framework.App {
		return mcpfxtest.App(t, mcpfx.Module("hotel", "1.0.0"), mcpfx.Provide(NewRooms), mcpfxtest.Replace(NewRooms(till)))
	})
	s.OnElicit("Book", true)
	s.CallRaw("book", `{"room":"Oslo 12"}`).OK()
	if len(till) != 1 {
		t.Errorf("charged %d times", len(till))
	}
}

func TestStore(t *testing.T) {
	storetest.Sessions(t, func(testing.TB) session.Store { return memory.New().Sessions() })
}

func TestNodes(t *testing.T) {
	storetest.Sessions(t, storetest.SessionNodes(func(testing.TB) (a, b session.Store) {
		shared := memory.New()
		return shared.Sessions(), shared.Sessions()
	}))
}

func TestCarrier(t *testing.T) {
	transporttest.Suite(t, func(t testing.TB, host transport.Host) transport.Conn {
		return inmem.Dial(t.Context(), host)
	})
}
