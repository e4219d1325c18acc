package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// trail is an audit log in memory.
type trail struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (tr *trail) Write(p []byte) (int, error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.text.Write(p)
}

type line struct {
	Name, Subject, Outcome string
	Rounds                 int
}

// take returns the lines since the last call, without the calls of lists.
func (tr *trail) take(t *testing.T) (lines []line) {
	t.Helper()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for text := range strings.Lines(tr.text.String()) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if l.Name != "" {
			lines = append(lines, l)
		}
	}
	tr.text.Reset()
	return lines
}

func shop() *Shop {
	return &Shop{Tenants: map[string]string{"ann": "acme"}, Prices: map[string]int{"tea": 450}}
}

// TestApproveWithoutHint: a tool without a hint is destructive, so the user is asked.
func TestApproveWithoutHint(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, framework.New("a", "1").Use(Approve()).Add(
		framework.Tool("wipe", func(context.Context, struct{}) (string, error) { return "wiped", nil })))
	s.OnElicit("Really wipe?", false)
	s.CallRaw("wipe", `{}`).IsError().Mentions("refused")
}

const refund = `{"order":"7","email":"bob@example.com"}`

func TestChain(t *testing.T) {
	t.Parallel()
	audit := &trail{}
	core, logs := observer.New(zap.InfoLevel)
	app := func() *framework.App { return NewApp(shop(), audit, framework.WithLogger(zap.New(core))) }
	testkit.BothEras(t, app, func(t *testing.T, s *testkit.Session) {
		audit.take(t)
		s.OnElicit("Really refund?", true)
		s.CallRaw("refund", refund).OK().Mentions("Refunded 7 of acme.")
		s.OnElicit("Really refund?", false)
		s.CallRaw("refund", refund).IsError().Mentions("refused")
		s.CallRaw("price", `{"name":"tea"}`).OK().Mentions("450")
		s.CallRaw("reports_year", `{}`).OK()
		got := audit.take(t)
		if len(got) != 4 || got[0].Name != "refund" || got[0].Subject != "ann" || got[0].Outcome != "ok" || got[1].Outcome != "tool_error" {
			t.Errorf("audit: %+v", got)
		}
		s.As("mallory").CallRaw("price", `{"name":"tea"}`).IsError().Mentions("mallory belongs to no tenant")
	}, testkit.User("ann"))
	for _, entry := range logs.All() {
		text, err := json.Marshal(entry.ContextMap())
		if err != nil || strings.Contains(string(text), "bob@example.com") {
			t.Errorf("logged %s, %v", text, err)
		}
	}
	if logs.Len() == 0 {
		t.Error("nothing is logged")
	}
}

// A rate limit of a group counts each tool separately, in addition to the limit of the app.
func TestRates(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, NewApp(shop(), &trail{}, framework.WithLogger(zap.NewNop())), testkit.User("ann"))
	s.CallRaw("reports_year", `{}`).OK()
	s.CallRaw("reports_year", `{}`).OK()
	s.CallRaw("reports_year", `{}`).Code(429).Mentions("try again in")
	s.CallRaw("price", `{"name":"tea"}`).OK()
}

// docs/middleware.md lists the chain in its order.
func TestOrder(t *testing.T) {
	t.Parallel()
	s, err := NewApp(shop(), &trail{}, framework.WithLogger(zap.NewNop())).Build()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"price":        "recovery scopes trace metrics logging audit tenant rate-limit concurrency timeout cache max-result approve",
		"reports_year": "recovery scopes trace metrics logging audit tenant rate-limit concurrency timeout rate-limit reports timeout max-result approve",
	}
	for _, c := range s.Inspect().Components {
		var names []string
		for _, step := range c.Chain {
			names = append(names, step.Name)
		}
		if got := strings.Join(names, " "); want[c.Name] != "" && got != want[c.Name] {
			t.Errorf("%s: %s\nwant %s", c.Name, got, want[c.Name])
		}
	}
}

// A hidden tool behaves like a tool that does not exist: it is not listed, it cannot be called by
// its name, and no error suggests its name.
func TestHide(t *testing.T) {
	guests := func(ctx context.Context, tool framework.ComponentInfo) bool {
		return tool.Name == "refund" && framework.CallerLite(ctx).Principal.Subject == "guest"
	}
	app := framework.New("shop", "1.0.0").Use(Hide(guests)...).Add(
		framework.Tool("price", shop().Price, framework.Describe("Return the price of a product.")),
		framework.Tool("refund", shop().Refund, framework.Describe("Refund an order.")))
	testkit.AllRevisions(t, app, func(t *testing.T, s *testkit.Session) {
		if len(s.Tools()) != 1 {
			t.Errorf("%+v", s.Tools())
		}
		none := s.CallRaw("refund_", refund).Code(-32602).Text()
		if got := s.CallRaw("refund", refund).Code(-32602).Text(); got != strings.Replace(none, "refund_", "refund", 1) {
			t.Errorf("a hidden tool answers %q, and an unknown tool %q", got, none)
		}
		ann := s.As("ann")
		if len(ann.Tools()) != 2 {
			t.Errorf("%+v", ann.Tools())
		}
		ann.CallRaw("refund", refund).OK()
	}, testkit.User("guest"))
}
