// Command documented is a server whose descriptions are doc comments.
package main

import (
	"context"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
)

//go:generate kagami gen

// Status is the state of an order.
type Status string

// The states of an order.
const (
	Draft Status = "draft" // not sent yet
	Sent  Status = "sent"  // waits for the "yes" of the shop
	Done  Status = "done"
)

// Perm is a set of rights.
type Perm int

// Rights to add up.
const (
	Read Perm = 1 << iota
	Write
)

// Port is any port.
//
//kagami:open
type Port int

// Ports that are used often.
const (
	Web   Port = 80
	Proxy Port = 8080
)

// FindIn is what find takes.
type FindIn struct {
	// Query is a part of the customer's name.
	Query  string `json:"query"`
	Status Status `json:"status,omitempty"` // the state that the orders have
	// Limit has a tag, which has precedence.
	Limit int  `json:"limit,omitempty" doc:"how many at most"`
	Perm  Perm `json:"perm,omitempty"`
	Port  Port `json:"port,omitempty"`
}

// Orders are all orders.
type Orders struct{}

// Find finds orders by the name of
// the customer.
//
// It returns the newest first.
func (*Orders) Find(context.Context, FindIn) ([]string, error) { return nil, nil }

// count counts orders.
func count() int { return 0 }

func main() {
	orders := &Orders{}
	serve.Main(framework.New("documented", "1.0.0").Add(
		framework.Tool("find", orders.Find),
		framework.Func("count", count),
	))
}
