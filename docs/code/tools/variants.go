package main

import (
	"context"
	"fmt"
	"regexp"

	"github.com/kagami-mcp/kagami/framework"
)

// Target is one of several types.
type Target interface{ Where() string }

// Pickup is a Target.
type Pickup struct {
	Store string `json:"store" validate:"min=1"`
}

// Where implements Target.
func (p Pickup) Where() string { return "store " + p.Store }

// Delivery is a Target.
type Delivery struct {
	Postcode string `json:"postcode" validate:"nl_postcode"`
}

// SendIn has a member "to" such as {"kind":"pickup","store":"Oslo"}.
type SendIn struct {
	To Target `json:"to"`
}

// Where implements Target.
func (d Delivery) Where() string { return "postcode " + d.Postcode }

// Send is a tool.
func Send(_ context.Context, in SendIn) (string, error) {
	return fmt.Sprintf("It goes to %s.", in.To.Where()), nil
}

var postcode = regexp.MustCompile(`^[1-9][0-9]{3} ?[A-Z]{2}$`)

// NewSender registers the types, and the rule nl_postcode.
func NewSender() *framework.App {
	return framework.New("sender", "1.0.0",
		framework.OneOf("kind", map[string]Target{"pickup": Pickup{}, "delivery": Delivery{}}),
		framework.Validation("nl_postcode", postcode.MatchString, `{"pattern":"^[1-9][0-9]{3} ?[A-Z]{2}$"}`, "a Dutch postcode such as 1234 AB"),
	).Add(framework.Tool("send", Send, framework.Describe("Send a parcel.")))
}
