package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/framework"
)

// Customer is a customer of the shop.
type Customer struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
}

func (c *Customer) columns() []any { return []any{&c.ID, &c.Name, &c.Email} }

const selectCustomers = `SELECT id, name, email FROM customers `

// Customers provides the components for customers.
type Customers struct{ db *sql.DB }

func newCustomers(db *sql.DB) *Customers { return &Customers{db} }

// Components returns the components. mcpfx.Provide calls it.
func (c *Customers) Components() []framework.Component {
	return []framework.Component{
		framework.Tool("find_customer", c.Find,
			framework.Describe("Find customers by a part of their name or e-mail address."),
			framework.ReadOnly(), framework.OpenWorld(false)),
		framework.ResourceTemplate("shop://customers/{id}", c.Customer,
			framework.Name("customer"), framework.Describe("One customer.")),
		framework.Prompt("thank", c.Thank,
			framework.Title("Thank a customer"),
			framework.Describe("Write a short letter of thanks to a customer.")),
	}
}

// FindIn is the input of the tool find_customer.
type FindIn struct {
	Text string `json:"text" doc:"a part of the name or of the address" validate:"min=2,max=100"`
}

// Find implements the tool find_customer.
func (c *Customers) Find(ctx context.Context, in FindIn) ([]Customer, error) {
	return collect(ctx, c.db, (*Customer).columns,
		selectCustomers+`WHERE instr(lower(name || ' ' || email), lower(?)) ORDER BY name`, in.Text)
}

// CustomerRef has the number of a customer, in a URI or as the argument of a prompt.
type CustomerRef struct {
	ID int64 `json:"id" uri:"id" doc:"number of the customer" validate:"min=1"`
}

// Customer returns the resource shop://customers/{id}.
func (c *Customers) Customer(ctx context.Context, ref CustomerRef) (Customer, error) {
	return c.find(ctx, ref.ID)
}

// Thank implements the prompt thank.
func (c *Customers) Thank(ctx context.Context, ref CustomerRef) (framework.Messages, error) {
	customer, err := c.find(ctx, ref.ID)
	if err != nil {
		return nil, err
	}
	return framework.Messages{framework.Userf(
		"Write three warm sentences that thank %s for buying at our tea shop. Promise nothing.", customer.Name)}, nil
}

func (c *Customers) find(ctx context.Context, id int64) (Customer, error) {
	var found Customer
	err := c.db.QueryRowContext(ctx, selectCustomers+`WHERE id = ?`, id).Scan(found.columns()...)
	if errors.Is(err, sql.ErrNoRows) {
		return found, framework.NotFoundf("there is no customer %d; find_customer returns the numbers", id)
	}
	if err != nil {
		return found, fmt.Errorf("reading customer %d: %w", id, err)
	}
	return found, nil
}
