// Command tools is the code of docs/tools.md.
package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
)

// Order is an order of the shop.
type Order struct {
	ID     string `json:"id" doc:"order number"`
	Cents  int64  `json:"cents" doc:"total in cents"`
	Status string `json:"status" doc:"status of the order"`
}

// Shop has state and methods, like any Go type. Handlers run concurrently, so mu guards the shared
// state.
type Shop struct {
	mu     sync.Mutex
	orders map[string]Order
}

// FindIn selects orders.
type FindIn struct {
	Status string `json:"status,omitempty" doc:"only orders in this status" validate:"omitempty,oneof=open paid shipped"`
	Limit  int    `json:"limit" doc:"rows to return" default:"10" validate:"min=1,max=100"`
}

// FindOut is a typed result. Its schema is listed, and its JSON is sent.
type FindOut struct {
	Orders []Order `json:"orders"`
	More   bool    `json:"more"`
}

// Find is a tool.
func (s *Shop) Find(_ context.Context, in FindIn) (FindOut, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := FindOut{}
	for _, id := range []string{"a1", "b2", "c3"} {
		o, ok := s.orders[id]
		if !ok || in.Status != "" && o.Status != in.Status {
			continue
		}
		if len(out.Orders) == in.Limit {
			out.More = true
			break
		}
		out.Orders = append(out.Orders, o)
	}
	return out, nil
}

// ShipIn is the input of the tool ship.
type ShipIn struct {
	ID string `json:"id" doc:"order number"`
}

// Ship returns an error that the model can act on.
func (s *Shop) Ship(ctx context.Context, in ShipIn) (Order, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.orders[in.ID]
	if !ok {
		return Order{}, framework.UserErrorf("there is no order %q: use orders_find to list the orders", in.ID)
	}
	if o.Status == "shipped" {
		return Order{}, framework.InvalidArgumentf("id", "order %s has been shipped already", in.ID)
	}
	framework.Log(ctx).Info("shipping " + in.ID)
	o.Status = "shipped"
	s.orders[in.ID] = o
	return o, nil
}

// Pack reports progress to clients that ask for it, and stops when they cancel.
func (s *Shop) Pack(ctx context.Context, _ struct{}) (string, error) {
	packed := 0
	for range framework.Track(ctx, []string{"a1", "b2", "c3"}, "packing") {
		packed++
	}
	return fmt.Sprintf("packed %d orders", packed), ctx.Err()
}

// Add does not even need a context.
func Add(a, b int) int { return a + b }

// Till is a prototype. Its methods become tools.
type Till struct {
	mu    sync.Mutex
	cents int64
}

// PayIn is the input of both tools.
type PayIn struct {
	Cents int64 `json:"cents" doc:"amount in cents" validate:"min=1"`
}

// TakeCash becomes take_cash.
func (t *Till) TakeCash(in PayIn) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cents += in.Cents
	return t.cents
}

// SalesTax becomes sales_tax.
func (t *Till) SalesTax(_ context.Context, in PayIn) (int64, error) {
	if in.Cents > 1_000_000 {
		return 0, framework.UserErrorf("ask the bookkeeper about amounts over 10000.00")
	}
	return in.Cents * 19 / 119, nil
}

// Audit writes a report for people. It is not a tool.
func (t *Till) Audit(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%d cents\n", t.TakeCash(PayIn{}))
	return err
}

// String implements fmt.Stringer. It is not a tool either.
func (t *Till) String() string { return "the till" }

// NewApp returns the app.
func NewApp() *framework.App {
	shop := &Shop{orders: map[string]Order{
		"a1": {ID: "a1", Cents: 1999, Status: "open"},
		"b2": {ID: "b2", Cents: 500, Status: "paid"},
		"c3": {ID: "c3", Cents: 12, Status: "shipped"},
	}}
	return framework.New("tools", "1.0.0").Add(
		framework.Group("orders",
			framework.Tool("find", shop.Find, framework.Describe("Find orders."), framework.ReadOnly()),
			framework.Tool("ship", shop.Ship, framework.Describe("Ship one order."), framework.Destructive(false)),
			framework.Tool("pack", shop.Pack, framework.Describe("Pack all orders."), framework.Timeout(time.Minute)),
		),
		framework.Func("add", Add, framework.Params("a", "b"), framework.Describe("Add two numbers.")),
		framework.Group("till",
			framework.Methods(&Till{}, framework.Exclude("Audit"), framework.Timeout(time.Second)),
		),
	)
}

func main() { serve.Main(NewApp()) }
