package main

import (
	"context"
	"errors"
)

// Payments takes money and gives it back. The same key twice moves it once.
type Payments interface {
	Charge(ctx context.Context, key string, customer Customer, cents int64) (receipt string, err error)
	Refund(ctx context.Context, key, receipt string) error
}

// ErrDeclined is the bank's answer, not a failure of ours.
var ErrDeclined = errors.New("the card was declined")

// paper is the bank of this example: it believes everything, and keeps nothing.
type paper struct{}

func newPayments() Payments { return paper{} }

// Charge makes a receipt of the key.
func (paper) Charge(_ context.Context, key string, _ Customer, _ int64) (string, error) {
	return "paper-" + key, nil
}

// Refund has nothing to give back.
func (paper) Refund(context.Context, string, string) error { return nil }
