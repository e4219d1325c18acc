package mcpfx_test

import (
	"context"
	"fmt"

	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/mcpfx"
)

// Prices is what the tools need. The graph makes it.
type Prices map[string]int

// Catalog is a provider: its components become part of the server.
type Catalog struct{ prices Prices }

// NewCatalog takes what it needs from the graph.
func NewCatalog(prices Prices) *Catalog { return &Catalog{prices} }

// Components are the tools of the catalog.
func (c *Catalog) Components() []framework.Component {
	return []framework.Component{framework.Tool("price", c.price, framework.Describe("The price of an article"))}
}

func (c *Catalog) price(_ context.Context, in struct {
	Article string `json:"article"`
},
) (int, error) {
	return c.prices[in.Article], nil
}

func ExampleModule() {
	app := fx.New(
		mcpfx.Module("shop", "1.4.0", mcpfx.HTTP("127.0.0.1:0"), mcpfx.Options(framework.WithLogger(zap.NewNop()))),
		mcpfx.Provide(NewCatalog),
		fx.Supply(Prices{"tea": 7}),
		fx.Invoke(func(s *framework.Server) { fmt.Println(s.Inspect().Components[0].Name) }),
		fx.NopLogger,
	)
	fmt.Println(app.Err())
	// Output:
	// price
	// <nil>
}
