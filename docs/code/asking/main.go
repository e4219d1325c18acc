// Command asking is the code of docs/asking.md.
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
)

// RoomIn is the input of the tools book, compare and advise.
type RoomIn struct {
	Hotel string `json:"hotel" doc:"name of the hotel"`
}

// Guest is a form. The user sees one field for each member.
type Guest struct {
	Name   string `json:"name" title:"Your name" validate:"min=2"`
	Nights int    `json:"nights" title:"Nights" default:"1" validate:"min=1,max=14"`
	Room   string `json:"room" title:"Room" validate:"oneof=single double"`
}

// Hotels books rooms.
type Hotels struct {
	Hold func(ctx context.Context, key, hotel string) (string, error) // the same key books only once
}

// Book asks the user in the middle of plain Go. It does not depend on the revision.
func (h *Hotels) Book(ctx context.Context, in RoomIn) (string, error) {
	guest, err := framework.Elicit[Guest](ctx, "Who is staying at "+in.Hotel+"?")
	if err != nil {
		return "", err
	}
	hold, err := framework.Once(ctx, "hold", func(ctx context.Context) (string, error) {
		return h.Hold(ctx, framework.IdempotencyKey(ctx), in.Hotel)
	})
	if err != nil {
		return "", err
	}
	sure, err := framework.Elicit[bool](ctx, fmt.Sprintf("Book a %s room for %d nights?", guest.Room, guest.Nights))
	if errors.Is(err, framework.ErrDeclined) || err == nil && !sure {
		return "Nothing was booked.", nil
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Booked for %s, hold %s.", guest.Name, hold), nil
}

// Compare asks the user and the client's model at the same time.
func Compare(ctx context.Context, in RoomIn) (string, error) {
	budget, opinion, err := framework.Gather2(ctx,
		framework.Ask[int]("What may a night cost?", framework.Key("budget")),
		framework.AskModel[string]("Is "+in.Hotel+" a good hotel? Answer in a word.", framework.Key("opinion")),
	)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Up to %d a night; the model says %s.", budget, opinion), nil
}

// PriceIn is the input of the tool price.
type PriceIn struct {
	Room string `json:"room" validate:"oneof=single double"`
}

// price is a tool of the server. Advise also gives it to the client's model.
var price = framework.Tool("price", func(_ context.Context, in PriceIn) (int, error) {
	return map[string]int{"single": 80, "double": 120}[in.Room], nil
}, framework.Describe("Return the price of a night."), framework.ReadOnly())

// Advise lets the client's model look up prices before it answers.
func Advise(ctx context.Context, in RoomIn) (string, error) {
	said, err := framework.Generate(ctx, "Which room at "+in.Hotel+" is worth its price?",
		framework.System("You advise guests."), framework.MaxTokens(300), framework.WithTools(price))
	if err != nil {
		return "", err
	}
	return said.Text(), nil
}

// NewApp returns the app. Tests also call it.
func NewApp(h *Hotels) *framework.App {
	return framework.New("asking", "1.0.0").Add(
		framework.Tool("book", h.Book, framework.Describe("Book a room. Asks the user.")),
		framework.Tool("compare", Compare, framework.Describe("Compare a hotel with the user's wishes."), framework.ReadOnly()),
		price,
		framework.Tool("advise", Advise, framework.Describe("Advise on a room. Asks the client's model."), framework.ReadOnly()),
	)
}

func main() {
	serve.Main(NewApp(&Hotels{Hold: func(_ context.Context, key, _ string) (string, error) { return "H-" + key, nil }}))
}
