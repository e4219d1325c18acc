package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/kagami-mcp/kagami/framework"
)

// Order is something that somebody bought.
type Order struct {
	ID       int64  `json:"id"`
	Customer int64  `json:"customer"`
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
	Total    int64  `json:"total" doc:"in cents"`
	Receipt  string `json:"receipt"`
	Status   string `json:"status" validate:"oneof=placed cancelled"`
	Placed   string `json:"placed" doc:"when, as RFC 3339"`
}

func (o *Order) columns() []any {
	return []any{&o.ID, &o.Customer, &o.SKU, &o.Quantity, &o.Total, &o.Receipt, &o.Status, &o.Placed}
}

const selectOrders = `SELECT id, customer, sku, quantity, total, receipt, status, placed FROM orders `

// Orders are all of them.
type Orders struct {
	db        *sql.DB
	catalogue *Catalogue
	customers *Customers
	payments  Payments
	now       Clock
}

func newOrders(db *sql.DB, catalogue *Catalogue, customers *Customers, payments Payments, now Clock) *Orders {
	return &Orders{db, catalogue, customers, payments, now}
}

// Components is what mcpfx.Provide looks for.
func (o *Orders) Components() []framework.Component {
	return []framework.Component{
		framework.Tool("place_order", o.Place,
			framework.Describe("Order a product for a customer and charge the customer's card. The user is asked first."),
			framework.Destructive(false), framework.OpenWorld(true)),
		framework.Tool("cancel_order", o.Cancel,
			framework.Describe("Cancel an order and refund it. The user is asked first; there is no way back."),
			framework.Destructive(true), framework.Idempotent(), framework.OpenWorld(true)),
		framework.Tool("sales_report", o.Report,
			framework.Describe("Add up what was sold, product by product. May take a while."),
			framework.ReadOnly(), framework.OpenWorld(false),
			framework.Task(framework.TaskOptional, framework.TTL(time.Hour))),
		framework.ResourceTemplate("shop://orders/{id}", o.Order,
			framework.Name("order"), framework.Describe("One order.")),
	}
}

// PlaceIn is what place_order takes.
type PlaceIn struct {
	Customer int64  `json:"customer" doc:"number of the customer" validate:"min=1"`
	SKU      string `json:"sku" doc:"what to order" validate:"min=1,max=40"`
	Quantity int    `json:"quantity" doc:"how many" default:"1" validate:"min=1,max=100"`
}

// Place answers place_order. Where the user is asked in rounds it runs again from the
// top with each answer: reading twice does no harm, and what must happen once is in
// framework.Once.
func (o *Orders) Place(ctx context.Context, in PlaceIn) (Order, error) {
	product, customer, err := o.parties(ctx, in)
	if err != nil {
		return Order{}, err
	}
	total := product.Price * int64(in.Quantity)
	sure, err := framework.Elicit[bool](ctx, fmt.Sprintf("Charge %s with %s for %d × %s?", customer.Name, euros(total), in.Quantity, product.Name))
	if err != nil {
		return Order{}, err
	}
	if !sure {
		return Order{}, framework.UserErrorf("The user does not want this order. Nothing was charged.")
	}
	receipt, err := framework.Once(ctx, "charge", func(ctx context.Context) (string, error) {
		return o.payments.Charge(ctx, framework.IdempotencyKey(ctx), customer, total)
	})
	if errors.Is(err, ErrDeclined) {
		return Order{}, framework.UserErrorf("The bank declined the card of %s. Nothing was charged.", customer.Name)
	}
	if err != nil {
		return Order{}, fmt.Errorf("charging customer %d: %w", in.Customer, err)
	}
	return framework.Once(ctx, "record", func(ctx context.Context) (Order, error) {
		return o.record(ctx, framework.IdempotencyKey(ctx), in, total, receipt)
	})
}

func (o *Orders) parties(ctx context.Context, in PlaceIn) (Product, Customer, error) {
	product, err := o.catalogue.find(ctx, in.SKU)
	if err != nil {
		return product, Customer{}, err
	}
	if product.Stock < in.Quantity {
		return product, Customer{}, framework.UserErrorf("Only %d × %s are left.", product.Stock, product.Name)
	}
	customer, err := o.customers.find(ctx, in.Customer)
	return product, customer, err
}

// record takes the goods off the shelf and writes the order down. The key makes a
// second attempt find the order of the first.
func (o *Orders) record(ctx context.Context, key string, in PlaceIn, total int64, receipt string) (Order, error) {
	tx, err := o.db.BeginTx(ctx, nil)
	if err != nil {
		return Order{}, err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit there is nothing to roll back
	var order Order
	err = tx.QueryRowContext(ctx, selectOrders+`WHERE once = ?`, key).Scan(order.columns()...)
	if !errors.Is(err, sql.ErrNoRows) {
		return order, err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE products SET stock = stock - ? WHERE sku = ?`, in.Quantity, in.SKU); err != nil {
		return Order{}, fmt.Errorf("taking %d × %s: %w", in.Quantity, in.SKU, err)
	}
	err = tx.QueryRowContext(ctx,
		`INSERT INTO orders (once, customer, sku, quantity, total, receipt, status, placed) VALUES (?, ?, ?, ?, ?, ?, 'placed', ?)
		 RETURNING id, customer, sku, quantity, total, receipt, status, placed`,
		key, in.Customer, in.SKU, in.Quantity, total, receipt, o.now().UTC().Format(time.RFC3339)).Scan(order.columns()...)
	if err != nil {
		return Order{}, fmt.Errorf("writing the order down: %w", err)
	}
	return order, tx.Commit()
}

// OrderRef names an order, in a URI or as an argument.
type OrderRef struct {
	ID int64 `json:"id" uri:"id" doc:"number of the order" validate:"min=1"`
}

// Cancellation is the form that the user fills.
type Cancellation struct {
	Confirm bool   `json:"confirm" doc:"yes, cancel it and give the money back"`
	Reason  string `json:"reason" doc:"why" default:"changed mind" validate:"oneof='changed mind' 'wrong product' 'too late'"`
}

// Cancel answers cancel_order.
func (o *Orders) Cancel(ctx context.Context, in OrderRef) (Order, error) {
	order, err := o.find(ctx, in.ID)
	if err != nil || order.Status == "cancelled" {
		return order, err
	}
	form, err := framework.Elicit[Cancellation](ctx, fmt.Sprintf("Cancel order %d (%d × %s) and refund %s?",
		order.ID, order.Quantity, order.SKU, euros(order.Total)))
	if err != nil {
		return Order{}, err
	}
	if !form.Confirm {
		return Order{}, framework.UserErrorf("The user keeps the order.")
	}
	framework.Log(ctx).Info("cancelling an order")
	_, err = framework.Once(ctx, "refund", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, o.payments.Refund(ctx, framework.IdempotencyKey(ctx), order.Receipt)
	})
	if err != nil {
		return Order{}, fmt.Errorf("refunding order %d: %w", order.ID, err)
	}
	if err := o.restock(ctx, order); err != nil {
		return Order{}, err
	}
	framework.ServerFrom(ctx).ResourceUpdated(ctx, fmt.Sprintf("shop://orders/%d", order.ID))
	return o.find(ctx, order.ID)
}

// restock changes nothing when it is done twice.
func (o *Orders) restock(ctx context.Context, order Order) error {
	tx, err := o.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit there is nothing to roll back
	changed, err := tx.ExecContext(ctx, `UPDATE orders SET status = 'cancelled' WHERE id = ? AND status = 'placed'`, order.ID)
	if err != nil {
		return fmt.Errorf("cancelling order %d: %w", order.ID, err)
	}
	if n, err := changed.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE products SET stock = stock + ? WHERE sku = ?`, order.Quantity, order.SKU); err != nil {
		return fmt.Errorf("putting %d × %s back: %w", order.Quantity, order.SKU, err)
	}
	return tx.Commit()
}

// Order answers shop://orders/{id}.
func (o *Orders) Order(ctx context.Context, ref OrderRef) (Order, error) {
	return o.find(ctx, ref.ID)
}

func (o *Orders) find(ctx context.Context, id int64) (Order, error) {
	var order Order
	err := o.db.QueryRowContext(ctx, selectOrders+`WHERE id = ?`, id).Scan(order.columns()...)
	if errors.Is(err, sql.ErrNoRows) {
		return order, framework.NotFoundf("there is no order %d", id)
	}
	if err != nil {
		return order, fmt.Errorf("reading order %d: %w", id, err)
	}
	return order, nil
}

// Sales is one line of the report.
type Sales struct {
	SKU    string `json:"sku"`
	Pieces int    `json:"pieces"`
	Total  int64  `json:"total" doc:"in cents"`
}

// Report answers sales_report. As a task it goes on when the request has ended.
func (o *Orders) Report(ctx context.Context, _ struct{}) ([]Sales, error) {
	products, err := o.catalogue.All(ctx)
	if err != nil {
		return nil, err
	}
	var report []Sales
	for _, p := range framework.Track(ctx, products, "adding up") {
		line := Sales{SKU: p.SKU}
		err := o.db.QueryRowContext(ctx,
			`SELECT coalesce(sum(quantity), 0), coalesce(sum(total), 0) FROM orders WHERE sku = ? AND status = 'placed'`, p.SKU,
		).Scan(&line.Pieces, &line.Total)
		if err != nil {
			return nil, fmt.Errorf("adding up %s: %w", p.SKU, err)
		}
		report = append(report, line)
	}
	return report, ctx.Err()
}

func euros(cents int64) string { return fmt.Sprintf("€%d.%02d", cents/100, cents%100) }
