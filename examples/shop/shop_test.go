package main

import (
	"context"
	"database/sql"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/fx"
	"go.uber.org/goleak"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/mcpfx/mcpfxtest"
	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/testkit"
)

// asServer is the environment variable that makes the test binary the program itself.
const asServer = "SHOP_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// bank records which orders were charged and refunded, and declines Alan's card.
type bank struct {
	mu                sync.Mutex
	charged, refunded map[int64]int // number of times by order
	meanwhile         func()        // if set, called during Charge
	beside            func()        // if set, called during Refund
}

func newBank() *bank { return &bank{charged: map[int64]int{}, refunded: map[int64]int{}} }

func (b *bank) Charge(_ context.Context, order int64, customer Customer, _ int64) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if customer.Name == "Alan Turing" {
		return "", ErrDeclined
	}
	if b.meanwhile != nil {
		b.meanwhile()
	}
	b.charged[order]++
	return "receipt", nil
}

func (b *bank) Refund(_ context.Context, order int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.beside != nil {
		b.beside()
	}
	b.refunded[order]++
	return nil
}

// shop returns the program with another bank and a fixed clock.
func shop(t testing.TB, b *bank, opts ...fx.Option) *framework.App {
	t.Helper()
	return mcpfxtest.App(t, program(), fx.Supply(Config{}),
		mcpfxtest.Replace[Payments](b),
		mcpfxtest.Replace[Clock](func() time.Time { return time.Date(2026, time.May, 4, 12, 0, 0, 0, time.UTC) }),
		fx.Options(opts...))
}

func TestPlaceAndCancel(t *testing.T) {
	var b *bank
	app := func(t testing.TB) *framework.App {
		b = newBank()
		return shop(t, b)
	}
	testkit.BothEras(t, app, func(t *testing.T, s *testkit.Session) {
		s.OnElicit("Charge Ada Lovelace with €25.00 for 2 × Sencha?", true)
		order, err := testkit.CallAs[Order](s, "place_order", PlaceIn{Customer: 1, SKU: "sencha", Quantity: 2})
		want := Order{
			ID: 1, Customer: 1, SKU: "sencha", Quantity: 2, Total: 2500, Receipt: "receipt",
			Status: "placed", Placed: "2026-05-04T12:00:00Z",
		}
		if err != nil || order != want {
			t.Fatalf("%+v, %v", order, err)
		}
		if p, err := testkit.ReadAs[Product](s, "shop://products/sencha"); err != nil || p.Stock != 38 {
			t.Errorf("%+v, %v", p, err)
		}
		s.OnElicit("Cancel order 1 (2 × sencha) and refund €25.00?", Cancellation{Confirm: true, Reason: "wrong product"})
		order, err = testkit.CallAs[Order](s, "cancel_order", OrderRef{ID: 1})
		if err != nil || order.Status != "cancelled" {
			t.Errorf("%+v, %v", order, err)
		}
		// A second cancellation changes nothing, and the user is not asked again.
		if _, err := testkit.CallAs[Order](s, "cancel_order", OrderRef{ID: 1}); err != nil {
			t.Error(err)
		}
		if p, err := testkit.ReadAs[Product](s, "shop://products/sencha"); err != nil || p.Stock != 40 {
			t.Errorf("%+v, %v", p, err)
		}
		if once := map[int64]int{1: 1}; !maps.Equal(b.charged, once) || !maps.Equal(b.refunded, once) {
			t.Errorf("charged %v, refunded %v", b.charged, b.refunded)
		}
	})
}

// TestCancelledDuringCharge: an order that is cancelled while the bank charges it is not paid for.
func TestCancelledDuringCharge(t *testing.T) {
	b, db := newBank(), (*sql.DB)(nil)
	s := testkit.New(t, shop(t, b, fx.Populate(&db)))
	b.meanwhile = func() {
		if _, err := db.ExecContext(t.Context(), `UPDATE orders SET status = 'cancelled'`); err != nil {
			t.Error(err)
		}
	}
	s.OnElicit("Charge Ada Lovelace", true)
	s.CallRaw("place_order", `{"customer":1,"sku":"sencha"}`).IsError().Mentions("refunded")
	if b.charged[1] != 1 || b.refunded[1] != 1 {
		t.Errorf("charged %v, refunded %v", b.charged, b.refunded)
	}
}

// TestChargedDuringCancel: an order that is charged after Refund has found no charge is refunded.
func TestChargedDuringCancel(t *testing.T) {
	b, db := newBank(), (*sql.DB)(nil)
	s := testkit.New(t, shop(t, b, fx.Populate(&db)))
	run := func(statement string) {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Error(err)
		}
	}
	s.OnElicit("Charge Ada Lovelace", true)
	s.CallRaw("place_order", `{"customer":1,"sku":"sencha"}`).OK()
	run(`UPDATE orders SET status = 'unpaid', receipt = ''`)
	b.beside = func() { run(`UPDATE orders SET status = 'placed', receipt = 'receipt'`) }
	s.OnElicit("Cancel order 1", Cancellation{Confirm: true, Reason: "too late"})
	s.CallRaw("cancel_order", `{"id":1}`).OK()
	if b.refunded[1] != 2 {
		t.Errorf("refunded %v", b.refunded)
	}
}

func TestNoChargeWithoutConsent(t *testing.T) {
	var b *bank
	app := func(t testing.TB) *framework.App {
		b = newBank()
		return shop(t, b)
	}
	testkit.BothEras(t, app, func(t *testing.T, s *testkit.Session) {
		s.OnElicit("Charge Ada Lovelace", false)
		s.CallRaw("place_order", `{"customer":1,"sku":"sencha"}`).IsError().Mentions("The user refused")
		s.OnElicit("Charge Ada Lovelace", testkit.Decline)
		s.CallRaw("place_order", `{"customer":1,"sku":"sencha"}`).IsError().Mentions("declined")
		s.OnElicit("Charge Alan Turing", true)
		s.CallRaw("place_order", `{"customer":3,"sku":"sencha"}`).IsError().Mentions("bank", "Alan")
		s.CallRaw("place_order", `{"customer":1,"sku":"kettle","quantity":3}`).IsError().Mentions("Only 2")
		s.CallRaw("place_order", `{"customer":1,"sku":"coffee"}`).IsError().Mentions("shop://products")
		s.CallRaw("place_order", `{"customer":9,"sku":"sencha"}`).IsError().Mentions("find_customer")
		s.CallRaw("place_order", `{"customer":1,"sku":"sencha","quantity":0}`).IsError().Mentions("quantity", "1")
		s.CallRaw("cancel_order", `{"id":9}`).IsError().Mentions("no order 9")
		if len(b.charged) != 0 {
			t.Errorf("charged %v", b.charged)
		}
	})
}

func TestResourcesAndPrompt(t *testing.T) {
	testkit.AllRevisions(t, func(t testing.TB) *framework.App { return shop(t, newBank()) }, func(t *testing.T, s *testkit.Session) {
		found, err := testkit.CallAs[[]Product](s, "search_products", SearchIn{Words: "green tea", Limit: 10})
		if err != nil || len(found) != 2 || found[0].SKU != "gyokuro" {
			t.Errorf("%+v, %v", found, err)
		}
		if all, err := testkit.ReadAs[[]Product](s, "shop://products"); err != nil || len(all) != 5 {
			t.Errorf("%+v, %v", all, err)
		}
		people, err := testkit.CallAs[[]Customer](s, "find_customer", FindIn{Text: "HOPPER"})
		if err != nil || len(people) != 1 || people[0].ID != 2 {
			t.Errorf("%+v, %v", people, err)
		}
		if c, err := testkit.ReadAs[Customer](s, "shop://customers/2"); err != nil || c.Name != "Grace Hopper" {
			t.Errorf("%+v, %v", c, err)
		}
		s.Read("shop://products/coffee").IsError().Mentions("coffee")
		s.Read("shop://orders/1").IsError()
		s.Get("thank", map[string]string{"id": "1"}).OK().Mentions("Ada Lovelace")
		s.Get("thank", map[string]string{"id": "9"}).IsError().Mentions("find_customer")
	})
}

// Another customer buys the last kettle while this user thinks, so this user does not pay.
func TestSoldDuringQuestion(t *testing.T) {
	var db *sql.DB
	var b *bank
	app := func(t testing.TB) *framework.App {
		b = newBank()
		return shop(t, b, fx.Populate(&db))
	}
	testkit.BothEras(t, app, func(t *testing.T, s *testkit.Session) {
		s.OnElicit("Charge Ada Lovelace", func(testkit.Form) any {
			if _, err := db.ExecContext(t.Context(), `UPDATE products SET stock = 1 WHERE sku = 'kettle'`); err != nil {
				t.Error(err)
			}
			return true
		})
		s.CallRaw("place_order", `{"customer":1,"sku":"kettle","quantity":2}`).IsError().Mentions("no longer in stock", "Nothing was charged")
		if len(b.charged) != 0 {
			t.Errorf("charged %v", b.charged)
		}
	})
}

// If the card is declined, the reserved goods go back into stock.
func TestDeclinedCard(t *testing.T) {
	testkit.BothEras(t, func(t testing.TB) *framework.App { return shop(t, newBank()) }, func(t *testing.T, s *testkit.Session) {
		s.OnElicit("Charge Alan Turing", true)
		s.CallRaw("place_order", `{"customer":3,"sku":"kettle","quantity":2}`).IsError().Mentions("bank", "Nothing was charged")
		if p, err := testkit.ReadAs[Product](s, "shop://products/kettle"); err != nil || p.Stock != 2 {
			t.Errorf("%+v, %v", p, err)
		}
		if o, err := testkit.ReadAs[Order](s, "shop://orders/1"); err != nil || o.Status != "cancelled" {
			t.Errorf("%+v, %v", o, err)
		}
	})
}

// A server that crashes after each effect charges only once, even if the order takes the whole
// stock.
func TestCrashes(t *testing.T) {
	file, b := filepath.Join(t.TempDir(), "tea.db"), newBank()
	s := testkit.New(t, func(t testing.TB) *framework.App {
		return mcpfxtest.App(t, program(), fx.Supply(Config{Database: file}), mcpfxtest.Replace[Payments](b))
	})
	s.Chaos()
	s.OnElicit("Charge Ada Lovelace", true)
	s.CallRaw("place_order", `{"customer":1,"sku":"kettle","quantity":2}`).OK()
	if len(b.charged) != 1 || b.charged[1] == 0 {
		t.Errorf("charged %v", b.charged)
	}
	if p, err := testkit.ReadAs[Product](s, "shop://products/kettle"); err != nil || p.Stock != 0 {
		t.Errorf("%+v, %v", p, err)
	}
}

// A cancellation that stops after the refund can be repeated, and subscribers are notified.
func TestRepeatedCancel(t *testing.T) {
	var db *sql.DB
	b := newBank()
	s := testkit.New(t, shop(t, b, fx.Populate(&db)))
	run := func(statement string) {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	s.OnElicit("Charge", true)
	s.CallRaw("place_order", `{"customer":1,"sku":"sencha"}`).OK()
	run(`CREATE TRIGGER broken BEFORE UPDATE ON orders BEGIN SELECT raise(ABORT, 'broken'); END`)
	s.OnElicit("Cancel order 1", Cancellation{Confirm: true, Reason: "too late"})
	s.CallRaw("cancel_order", `{"id":1}`).IsError()
	run(`DROP TRIGGER broken`)
	s.Subscribe("shop://products/sencha")
	s.OnElicit("Cancel order 1", Cancellation{Confirm: true, Reason: "too late"})
	s.CallRaw("cancel_order", `{"id":1}`).OK().Mentions("cancelled")
	s.AwaitNotification(protocol.NotificationResourceUpdated)
	if len(b.refunded) != 1 || b.refunded[1] != 2 { // the bank recognizes the repeated refund
		t.Errorf("refunded %v", b.refunded)
	}
}

// The report is an ordinary result for clients without tasks, and a task for other clients.
func TestReport(t *testing.T) {
	testkit.BothEras(t, func(t testing.TB) *framework.App { return shop(t, newBank()) }, func(t *testing.T, s *testkit.Session) {
		s.OnElicit("Charge", true)
		s.CallRaw("place_order", `{"customer":2,"sku":"assam","quantity":3}`).OK()
		report, err := testkit.CallAs[[]Sales](s, "sales_report", struct{}{})
		if err != nil || len(report) != 5 || report[0] != (Sales{SKU: "assam", Pieces: 3, Total: 3300}) {
			t.Errorf("%+v, %v", report, err)
		}
	})
}

func TestJournal(t *testing.T) {
	var db *sql.DB
	s := testkit.New(t, shop(t, newBank(), fx.Populate(&db)))
	s.OnElicit("Charge", true)
	s.CallRaw("place_order", `{"customer":1,"sku":"oolong"}`).OK()
	s.CallRaw("place_order", `{"customer":1,"sku":"coffee"}`).IsError()
	s.CallRaw("search_products", `{"words":"tea"}`).OK()
	got, err := collect(t.Context(), db, func(l *[2]string) []any { return []any{&l[0], &l[1]} }, `SELECT tool, outcome FROM journal ORDER BY rowid`)
	want := [][2]string{{"place_order", "ok"}, {"place_order", "not_found"}, {"search_products", "ok"}}
	if err != nil || len(got) != len(want) {
		t.Fatalf("%v, %v", got, err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%v", got)
		}
	}
}

// An order succeeds even if the journal cannot be written.
func TestJournalFails(t *testing.T) {
	var db *sql.DB
	s := testkit.New(t, shop(t, newBank(), fx.Populate(&db)))
	if _, err := db.ExecContext(t.Context(), `DROP TABLE journal`); err != nil {
		t.Fatal(err)
	}
	s.OnElicit("Charge", true)
	s.CallRaw("place_order", `{"customer":1,"sku":"oolong"}`).OK()
}

// kagami inspect gets the report: fx starts the program, which prints the report and ends.
func TestInspect(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "--inspect=json")
	cmd.Env = append(os.Environ(), asServer+"=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	shown, err := surface.Parse(out)
	if err != nil || shown.Server.Name != "shop" || len(shown.Inside.Components) == 0 {
		t.Fatalf("%v: %s", err, out)
	}
	for _, c := range shown.Inside.Components {
		journal := slices.ContainsFunc(c.Chain, func(s surface.Step) bool { return s.Name == "journal" })
		if !strings.Contains(c.Added, ".new") || !strings.Contains(c.Added, ".go:") || journal != (c.Kind == "tool") {
			t.Errorf("%s %s: added at %s, chain %+v", c.Kind, c.Name, c.Added, c.Chain)
		}
	}
}

// The program runs as users start it, twice with the same file, and a user answers its questions.
func TestEndToEnd(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tea.db")
	run := func(rev protocol.Revision, talk func(c *client.Client)) {
		t.Helper()
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe, "-stdio", "-db", file)
		cmd.Env = append(os.Environ(), asServer+"=1")
		c, err := client.Connect(t.Context(), client.Command(cmd), client.Revisions(rev),
			client.OnElicit(func(context.Context, *client.ElicitRequest) (*client.ElicitAnswer, error) {
				return &client.ElicitAnswer{Action: "accept", Content: map[string]any{"value": true}}, nil
			}))
		if err != nil {
			t.Fatal(err)
		}
		talk(c)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	run(protocol.Rev20260728, func(c *client.Client) {
		order, err := client.Call[Order](t.Context(), c, "place_order", PlaceIn{Customer: 1, SKU: "gyokuro", Quantity: 1})
		if err != nil || order.Total != 2900 {
			t.Errorf("%+v, %v", order, err)
		}
	})
	run(protocol.Rev20250618, func(c *client.Client) {
		left, err := client.Call[[]Product](t.Context(), c, "search_products", SearchIn{Words: "gyokuro", Limit: 1})
		if err != nil || len(left) != 1 || left[0].Stock != 5 {
			t.Errorf("%+v, %v", left, err)
		}
	})
}
