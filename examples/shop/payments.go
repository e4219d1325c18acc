package main

import (
	"context"
	"errors"
	"fmt"
)

// Payments charges and refunds orders. The number of the order makes both idempotent: an order is
// charged at most once, refunded at most once, and never refunded without a charge.
type Payments interface {
	Charge(ctx context.Context, order int64, customer Customer, cents int64) (receipt string, err error)
	Refund(ctx context.Context, order int64) error
}

// ErrDeclined is the answer of the bank if it declines the card.
var ErrDeclined = errors.New("the card was declined")

// paper is the bank of this example. It accepts every payment and stores nothing.
type paper struct{}

func newPayments() Payments { return paper{} }

// Charge returns a receipt for the order.
func (paper) Charge(_ context.Context, order int64, _ Customer, _ int64) (string, error) {
	return fmt.Sprintf("paper-%d", order), nil
}

// Refund does nothing.
func (paper) Refund(context.Context, int64) error { return nil }
