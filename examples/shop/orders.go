package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/kagami-mcp/kagami/framework"
)

// Order is an order of a customer.
type Order struct {
	ID       int64  `json:"id"`
	Customer int64  `json:"customer"`
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
	Total    int64  `json:"total" doc:"in cents"`
	Receipt  string `json:"receipt"`
	Status   string `json:"status" validate:"oneof=unpaid placed cancelled"`
	Placed   string `json:"placed" doc:"time of the order, as RFC 3339"`
}

func (o *Order) columns() []any {
	return []any{&o.ID, &o.Customer, &o.SKU, &o.Quantity, &o.Total, &o.Receipt, &o.Status, &o.Placed}
}

const (
	orderColumns = `id, customer, sku, quantity, total, receipt, status, placed`
	selectOrders = `SELECT ` + orderColumns + ` FROM orders `
	returnOrder  = `RETURNING ` + orderColumns
)

// Orders provides the components for orders.
type Orders struct {
	db        *sql.DB
	catalog   *Catalog
	customers *Customers
	payments  Payments
	now       Clock
}

func newOrders(db *sql.DB, catalog *Catalog, customers *Customers, payments Payments, now Clock) *Orders {
	return &Orders{db, catalog, customers, payments, now}
}

// Components returns the components. mcpfx.Provide calls it.
func (o *Orders) Components() []framework.Component {
	return []framework.Component{
		framework.Tool("place_order", o.Place,
			framework.Describe("Order a product for a customer and charge the customer's card. The user is asked first."),
			framework.Destructive(false), framework.OpenWorld(true)),
		framework.Tool("cancel_order", o.Cancel,
			framework.Describe("Cancel an order and refund it. The user is asked first. This cannot be undone."),
			framework.Destructive(true), framework.Idempotent(), framework.OpenWorld(true)),
		framework.Tool("sales_report", o.Report,
			framework.Describe("Add up what was sold, product by product. May take a while."),
			framework.ReadOnly(), framework.OpenWorld(false),
			framework.Task(framework.TaskOptional, framework.TTL(time.Hour))),
		framework.ResourceTemplate("shop://orders/{id}", o.Order,
			framework.Name("order"), framework.Describe("One order.")),
	}
}

// PlaceIn is the input of the tool place_order.
type PlaceIn struct {
	Customer int64  `json:"customer" doc:"number of the customer" validate:"min=1"`
	SKU      string `json:"sku" doc:"SKU of the product" validate:"min=1,max=40"`
	Quantity int    `json:"quantity" doc:"number of pieces" default:"1" validate:"min=1,max=100"`
}

// offer is what the user has to confirm.
type offer struct {
	Product  Product
	Customer Customer
	Total    int64
}

// Place implements the tool place_order. If the user is asked in rounds, Place runs again from the
// top with each answer. All work before and after the question is therefore in framework.Once: the
// user pays the price in the question, and nothing happens twice.
//
// Place reserves the goods before it charges the customer, because another customer may buy the
// last ones while this user thinks.
func (o *Orders) Place(ctx context.Context, in PlaceIn) (Order, error) {
	offer, err := framework.Once(ctx, "offer", func(ctx context.Context) (offer, error) { return o.offer(ctx, in) })
	if err != nil {
		return Order{}, err
	}
	sure, err := framework.Elicit[bool](ctx, fmt.Sprintf("Charge %s with %s for %d × %s?",
		offer.Customer.Name, euros(offer.Total), in.Quantity, offer.Product.Name))
	if err != nil {
		return Order{}, err
	}
	if !sure {
		return Order{}, framework.UserErrorf("The user refused this order. Nothing was charged.")
	}
	order, err := framework.Once(ctx, "reserve", func(ctx context.Context) (Order, error) {
		return o.reserve(ctx, framework.IdempotencyKey(ctx), in, offer.Total)
	})
	if err != nil {
		return Order{}, err
	}
	receipt, err := framework.Once(ctx, "charge", func(ctx context.Context) (string, error) {
		return o.payments.Charge(ctx, order.ID, offer.Customer, order.Total)
	})
	if errors.Is(err, ErrDeclined) {
		if err := o.release(ctx, order); err != nil {
			return Order{}, err
		}
		return Order{}, framework.UserErrorf("The bank declined the card of %s. Nothing was charged.", offer.Customer.Name)
	}
	if err != nil { // it is unknown whether money was paid: the order stays unpaid, and can be cancelled
		return Order{}, fmt.Errorf("charging customer %d for order %d: %w", in.Customer, order.ID, err)
	}
	paid, err := o.paid(ctx, order, receipt)
	if errors.Is(err, sql.ErrNoRows) { // it was cancelled while it was charged, when there was no charge to refund
		_, err = framework.Once(ctx, "refund", func(ctx context.Context) (struct{}, error) {
			return struct{}{}, o.payments.Refund(ctx, order.ID)
		})
		if err == nil {
			err = framework.UserErrorf("Order %d was cancelled in the meantime. The money is refunded.", order.ID)
		}
	}
	return paid, err
}

func (o *Orders) offer(ctx context.Context, in PlaceIn) (offer, error) {
	product, err := o.catalog.find(ctx, in.SKU)
	if err != nil {
		return offer{}, err
	}
	if product.Stock < in.Quantity {
		return offer{}, framework.UserErrorf("Only %d × %s are left.", product.Stock, product.Name)
	}
	customer, err := o.customers.find(ctx, in.Customer)
	return offer{product, customer, product.Price * int64(in.Quantity)}, err
}

// reserve reduces the stock and writes the order. With the same key, a second attempt finds the
// order of the first.
func (o *Orders) reserve(ctx context.Context, key string, in PlaceIn, total int64) (Order, error) {
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
	taken, err := tx.ExecContext(ctx, `UPDATE products SET stock = stock - ?1 WHERE sku = ?2 AND stock >= ?1`, in.Quantity, in.SKU)
	if err != nil {
		return Order{}, fmt.Errorf("taking %d × %s: %w", in.Quantity, in.SKU, err)
	}
	n, err := taken.RowsAffected()
	if err != nil {
		return Order{}, err
	}
	if n == 0 {
		return Order{}, framework.UserErrorf("%d × %s are no longer in stock. Nothing was charged.", in.Quantity, in.SKU)
	}
	err = tx.QueryRowContext(ctx,
		`INSERT INTO orders (once, customer, sku, quantity, total, receipt, status, placed) VALUES (?, ?, ?, ?, ?, '', 'unpaid', ?) `+returnOrder,
		key, in.Customer, in.SKU, in.Quantity, total, o.now().UTC().Format(time.RFC3339)).Scan(order.columns()...)
	if err != nil {
		return Order{}, fmt.Errorf("writing the order down: %w", err)
	}
	return order, tx.Commit()
}

func (o *Orders) paid(ctx context.Context, order Order, receipt string) (Order, error) {
	err := o.db.QueryRowContext(ctx, `UPDATE orders SET status = 'placed', receipt = ? WHERE id = ? AND status <> 'cancelled' `+returnOrder,
		receipt, order.ID).Scan(order.columns()...)
	if err != nil {
		return Order{}, fmt.Errorf("writing down that order %d is paid: %w", order.ID, err)
	}
	changed(ctx, order)
	return order, nil
}

// changed notifies the subscribers of an order and its product.
func changed(ctx context.Context, order Order) {
	server := framework.ServerFrom(ctx)
	server.ResourceUpdated(ctx, fmt.Sprintf("shop://orders/%d", order.ID))
	server.ResourceUpdated(ctx, "shop://products/"+order.SKU)
}

// OrderRef has the number of an order, in a URI or as an argument.
type OrderRef struct {
	ID int64 `json:"id" uri:"id" doc:"number of the order" validate:"min=1"`
}

// Cancellation is the form that the user fills in.
type Cancellation struct {
	Confirm bool   `json:"confirm" doc:"cancel the order and refund the money"`
	Reason  string `json:"reason" doc:"why" default:"changed mind" validate:"oneof='changed mind' 'wrong product' 'too late'"`
}

// Cancel implements the tool cancel_order.
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
		return Order{}, framework.UserErrorf("The user decided to keep the order.")
	}
	framework.Log(ctx).Info("cancelling an order: " + form.Reason)
	_, err = framework.Once(ctx, "refund", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, o.payments.Refund(ctx, order.ID)
	})
	if err != nil {
		return Order{}, fmt.Errorf("refunding order %d: %w", order.ID, err)
	}
	if err := o.release(ctx, order); err != nil {
		return Order{}, err
	}
	now, err := o.find(ctx, order.ID)
	if err == nil && now.Receipt != order.Receipt { // it was charged after Refund had found no charge
		_, err = framework.Once(ctx, "refund late", func(ctx context.Context) (struct{}, error) {
			return struct{}{}, o.payments.Refund(ctx, order.ID)
		})
	}
	return now, err
}

// release cancels an order and puts its goods back. A second call changes nothing.
func (o *Orders) release(ctx context.Context, order Order) error {
	tx, err := o.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit there is nothing to roll back
	ended, err := tx.ExecContext(ctx, `UPDATE orders SET status = 'cancelled' WHERE id = ? AND status <> 'cancelled'`, order.ID)
	if err != nil {
		return fmt.Errorf("cancelling order %d: %w", order.ID, err)
	}
	if n, err := ended.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE products SET stock = stock + ? WHERE sku = ?`, order.Quantity, order.SKU); err != nil {
		return fmt.Errorf("putting %d × %s back: %w", order.Quantity, order.SKU, err)
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	changed(ctx, order)
	return nil
}

// Order returns the resource shop://orders/{id}.
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

// Report implements the tool sales_report. As a task, it continues after the request has ended.
func (o *Orders) Report(ctx context.Context, _ struct{}) ([]Sales, error) {
	products, err := o.catalog.All(ctx)
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
