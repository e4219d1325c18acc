package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/framework"
)

// Product is a product of the shop.
type Product struct {
	SKU   string `json:"sku"`
	Name  string `json:"name"`
	About string `json:"about"`
	Price int64  `json:"price" doc:"in cents"`
	Stock int    `json:"stock" doc:"pieces in stock"`
}

func (p *Product) columns() []any { return []any{&p.SKU, &p.Name, &p.About, &p.Price, &p.Stock} }

const selectProducts = `SELECT sku, name, about, price, stock FROM products `

// Catalog provides the components for products.
type Catalog struct{ db *sql.DB }

func newCatalog(db *sql.DB) *Catalog { return &Catalog{db} }

// Components returns the components. mcpfx.Provide calls it.
func (c *Catalog) Components() []framework.Component {
	return []framework.Component{
		framework.Tool("search_products", c.Search,
			framework.Describe("Find products by words in their name or description."),
			framework.ReadOnly(), framework.OpenWorld(false)),
		framework.Resource("shop://products", c.All,
			framework.Name("products"), framework.Describe("Everything that the shop sells.")),
		framework.ResourceTemplate("shop://products/{sku}", c.Product,
			framework.Name("product"), framework.Describe("One product."),
			framework.Complete("sku", c.complete)),
	}
}

// SearchIn is the input of the tool search_products.
type SearchIn struct {
	Words string `json:"words" doc:"what to look for" validate:"min=2,max=100"`
	Limit int    `json:"limit" doc:"maximum number of products" default:"10" validate:"min=1,max=50"`
}

// Search implements the tool search_products.
func (c *Catalog) Search(ctx context.Context, in SearchIn) ([]Product, error) {
	return collect(ctx, c.db, (*Product).columns,
		selectProducts+`WHERE instr(lower(name || ' ' || about), lower(?)) ORDER BY name LIMIT ?`, in.Words, in.Limit)
}

// All returns the resource shop://products.
func (c *Catalog) All(ctx context.Context) ([]Product, error) {
	return collect(ctx, c.db, (*Product).columns, selectProducts+`ORDER BY name`)
}

// ProductRef has the variable of shop://products/{sku}.
type ProductRef struct {
	SKU string `uri:"sku"`
}

// Product returns the resource shop://products/{sku}.
func (c *Catalog) Product(ctx context.Context, ref ProductRef) (Product, error) {
	return c.find(ctx, ref.SKU)
}

func (c *Catalog) find(ctx context.Context, sku string) (Product, error) {
	var p Product
	err := c.db.QueryRowContext(ctx, selectProducts+`WHERE sku = ?`, sku).Scan(p.columns()...)
	if errors.Is(err, sql.ErrNoRows) {
		return p, framework.NotFoundf("there is no product %q; shop://products lists all", sku)
	}
	if err != nil {
		return p, fmt.Errorf("reading product %q: %w", sku, err)
	}
	return p, nil
}

func (c *Catalog) complete(ctx context.Context, prefix string, _ map[string]string) ([]string, error) {
	return collect(ctx, c.db, func(sku *string) []any { return []any{sku} },
		`SELECT sku FROM products WHERE substr(sku, 1, length(?1)) = ?1 ORDER BY sku`, prefix)
}
