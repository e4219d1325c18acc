// Command testing is the code of docs/testing.md: the server under test.
package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
	"github.com/kagami-mcp/kagami/protocol"
)

// FindIn is the input of the tool find.
type FindIn struct {
	City   string `json:"city" doc:"where to stay" validate:"oneof=Oslo Kyoto"`
	Nights int    `json:"nights,omitempty" doc:"how many nights" default:"1" validate:"min=1,max=30"`
}

// FindOut is the result of the tool find.
type FindOut struct {
	Room  string `json:"room"`
	Price int    `json:"price"`
}

// BookIn is the input of the tool book.
type BookIn struct {
	Room string `json:"room" doc:"room that the tool find returned"`
}

// CleanIn is the input of the tool clean.
type CleanIn struct {
	Floor int `json:"floor" doc:"which floor" validate:"min=1,max=9"`
}

// AdviseIn is the input of the tool advise.
type AdviseIn struct {
	City string `json:"city" doc:"where the guest is"`
}

// Hotel has the tools of a hotel.
type Hotel struct {
	Charge func(ctx context.Context, key, room string) error // the same key charges only once

	Find   *framework.ToolOf[FindIn, FindOut]
	Book   *framework.ToolOf[BookIn, string]
	Clean  *framework.ToolOf[CleanIn, string]
	Advise *framework.ToolOf[AdviseIn, string]
}

// NewHotel also creates the tools, so that tests can call them directly.
func NewHotel(charge func(ctx context.Context, key, room string) error) *Hotel {
	h := &Hotel{Charge: charge}
	h.Find = framework.Tool("find", h.find, framework.Describe("Find a room."), framework.ReadOnly())
	h.Book = framework.Tool("book", h.book, framework.Describe("Book a room. Asks the user first."),
		framework.Task(framework.TaskOptional, framework.TTL(time.Hour)))
	h.Clean = framework.Tool("clean", h.clean, framework.Describe("Clean a floor. Takes three hours."),
		framework.Task(framework.TaskOptional, framework.TTL(24*time.Hour)))
	h.Advise = framework.Tool("advise", h.advise, framework.Describe("Suggest what to see in a city."), framework.ReadOnly())
	return h
}

// App returns a new app.
func (h *Hotel) App(opts ...framework.AppOption) *framework.App {
	return framework.New("hotel", "1.0.0", opts...).Add(h.Find, h.Book, h.Clean, h.Advise,
		framework.Resource("hotel://menu", menu, framework.Name("menu"), framework.Describe("What there is to eat.")),
		framework.Prompt("welcome", welcome, framework.Describe("Welcome a guest."),
			framework.Complete("city", cities)))
}

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

func (*Hotel) clean(ctx context.Context, in CleanIn) (string, error) {
	for room := range 3 {
		framework.Progress(ctx, room+1, 3, fmt.Sprintf("room %d%d", in.Floor, room+1))
		select {
		case <-time.After(time.Hour):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	framework.Notify(ctx, protocol.LevelInfo, "a floor is clean")
	return fmt.Sprintf("Floor %d is clean.", in.Floor), nil
}

func (*Hotel) advise(ctx context.Context, in AdviseIn) (string, error) {
	said, err := framework.Generate(ctx, "What is there to see in "+in.City+"?")
	return said.Text(), err
}

func menu(context.Context) (string, error) { return "Rice, and fish.", nil }

// WelcomeIn has the arguments of the prompt.
type WelcomeIn struct {
	City string `json:"city" doc:"where the guest comes from"`
}

func welcome(_ context.Context, in WelcomeIn) (framework.Messages, error) {
	return framework.Messages{framework.User("Welcome a guest from " + in.City + ".")}, nil
}

func cities(_ context.Context, prefix string, _ map[string]string) ([]string, error) {
	var all []string
	for _, city := range []string{"Oslo", "Kyoto"} {
		if strings.HasPrefix(city, prefix) {
			all = append(all, city)
		}
	}
	return all, nil
}

func main() {
	serve.Main(NewHotel(func(context.Context, string, string) error { return nil }).App())
}
