package main

import (
	"context"
	"errors"
	"fmt"
)

// Payments takes money and gives it back. The number of the order makes both idempotent:
// an order is charged once and refunded once, and not at all if it was never charged.
type Payments interface {
	Charge(ctx context.Context, order int64, customer Customer, cents int64) (receipt string, err error)
	Refund(ctx context.Context, order int64) error
}

// ErrDeclined is the bank's answer, not a failure of ours.
var ErrDeclined = errors.New("the card was declined")

// paper is the bank of this example: it believes everything, and keeps nothing.
type paper struct{}

func newPayments() Payments { return paper{} }

// Charge makes a receipt of the order.
func (paper) Charge(_ context.Context, order int64, _ Customer, _ int64) (string, error) {
	return fmt.Sprintf("paper-%d", order), nil
}

// Refund has nothing to give back.
func (paper) Refund(context.Context, int64) error { return nil }
