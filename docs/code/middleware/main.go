// Command middleware is the code of docs/middleware.md.
package main

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
	"github.com/kagami-mcp/kagami/middleware"
)

// NewApp returns the app. Tests also call it.
func NewApp(s *Shop, audit io.Writer, opts ...framework.AppOption) *framework.App {
	return framework.New("shop", "1.0.0", opts...).Use(
		middleware.Trace(),
		middleware.Metrics(),
		middleware.Logging(middleware.Redact("email")),
		middleware.Audit(audit),
		middleware.RateLimit(middleware.Rate{Events: 100, Per: time.Minute}),
		middleware.Concurrency(32, 128),
		middleware.Timeout(10*time.Minute),
		middleware.MaxResult(1<<20),
	).Use(
		Tenant(s.Tenants),
		Approve(),
	).Add(
		framework.Tool("price", s.Price, framework.Describe("Return the price of a product."), framework.ReadOnly(), framework.Idempotent(),
			framework.With(middleware.Cache(time.Minute, 10_000))),
		framework.Tool("refund", s.Refund, framework.Describe("Refund an order."), framework.Destructive(true)),
		framework.Group("reports",
			framework.Tool("year", s.Year, framework.Describe("Report the sales of the year."), framework.ReadOnly(),
				framework.With(middleware.Timeout(5*time.Second))),
		).With(framework.With(middleware.RateLimit(perTool))),
	)
}

// perTool allows each caller two calls of each report per hour. The limit of the app also applies.
var perTool = middleware.Rate{
	Name: "reports", Events: 2, Per: time.Hour,
	By: func(c *framework.CallInfo, name string) string { return subject(c) + " " + name },
}

func subject(c *framework.CallInfo) string {
	if c.Principal == nil {
		return ""
	}
	return c.Principal.Issuer + " " + c.Principal.Subject
}

func main() {
	shop := &Shop{Tenants: map[string]string{"": "public"}, Prices: map[string]int{"tea": 450}}
	serve.Main(NewApp(shop, os.Stderr)) // in production a file opened with os.O_APPEND
}

// Shop sells things to tenants.
type Shop struct {
	Tenants map[string]string // tenants by subject
	Prices  map[string]int    // prices in cents by name
}

// PriceIn is the input of the tool price.
type PriceIn struct {
	Name string `json:"name" doc:"what to buy"`
}

// Price returns the price in cents.
func (s *Shop) Price(_ context.Context, in PriceIn) (int, error) {
	cents, ok := s.Prices[in.Name]
	if !ok {
		return 0, framework.NotFoundf("there is no %q", in.Name)
	}
	return cents, nil
}

// RefundIn is the input of the tool refund.
type RefundIn struct {
	Order string `json:"order" doc:"number of the order"`
	Email string `json:"email" doc:"email address of the customer" validate:"email"`
}

// Refund refunds an order.
func (s *Shop) Refund(ctx context.Context, in RefundIn) (string, error) {
	return "Refunded " + in.Order + " of " + TenantFrom(ctx) + ".", nil
}

// Year returns a report of the year.
func (s *Shop) Year(ctx context.Context, _ struct{}) (string, error) {
	return "A good year for " + TenantFrom(ctx) + ".", nil
}
