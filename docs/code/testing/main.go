// Command testing is the code of docs/testing.md: what the tests there test.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
)

// FindIn is what the model fills in.
type FindIn struct {
	City   string `json:"city" doc:"where to stay" validate:"oneof=Oslo Kyoto"`
	Nights int    `json:"nights,omitempty" doc:"how many nights" default:"1" validate:"min=1,max=30"`
}

// FindOut is a room.
type FindOut struct {
	Room  string `json:"room"`
	Price int    `json:"price"`
}

// BookIn is what the model fills in.
type BookIn struct {
	Room string `json:"room" doc:"what find has found"`
}

// Hotel has rooms.
type Hotel struct {
	Charge func(ctx context.Context, key, room string) error // key makes it idempotent

	Find *framework.ToolOf[FindIn, FindOut]
	Book *framework.ToolOf[BookIn, string]
}

// NewHotel makes the tools, too, so that tests can call them by their handles.
func NewHotel(charge func(ctx context.Context, key, room string) error) *Hotel {
	h := &Hotel{Charge: charge}
	h.Find = framework.Tool("find", h.find, framework.Describe("Find a room."), framework.ReadOnly())
	h.Book = framework.Tool("book", h.book, framework.Describe("Book a room. Asks the user first."),
		framework.Task(framework.TaskOptional, framework.TTL(time.Hour)))
	return h
}

// App is a fresh one.
func (h *Hotel) App() *framework.App { return framework.New("hotel", "1.0.0").Add(h.Find, h.Book) }

func (*Hotel) find(_ context.Context, in FindIn) (FindOut, error) {
	return FindOut{Room: in.City + " 12", Price: 80 * in.Nights}, nil
}

func (h *Hotel) book(ctx context.Context, in BookIn) (string, error) {
	sure, err := framework.Elicit[bool](ctx, fmt.Sprintf("Book %s?", in.Room))
	if err != nil {
		return "", err
	}
	if !sure {
		return "Nothing was booked.", nil
	}
	_, err = framework.Once(ctx, "charge", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, h.Charge(ctx, framework.IdempotencyKey(ctx), in.Room)
	})
	if err != nil {
		return "", err
	}
	return in.Room + " is booked.", nil
}

func main() {
	serve.Main(NewHotel(func(context.Context, string, string) error { return nil }).App())
}
