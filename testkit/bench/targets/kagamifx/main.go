// Command kagamifx is a server that fx wires, for the measurement of its start.
package main

import (
	"context"

	"go.uber.org/fx" //nolint:depguard // a program wired by fx is what is measured

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/mcpfx"
	"github.com/kagami-mcp/kagami/testkit/bench/internal/sample"
)

func main() {
	fx.New(
		mcpfx.Module(sample.Name, sample.Version, mcpfx.Stdio()),
		mcpfx.Provide(newCalculator),
	).Run()
}

// calculator offers the tool add.
type calculator struct{}

func newCalculator() *calculator { return &calculator{} }

// Components are what it offers.
func (c *calculator) Components() []framework.Component {
	return []framework.Component{framework.Tool("add", c.add, framework.Describe(sample.AddText))}
}

func (*calculator) add(_ context.Context, in sample.AddIn) (sample.AddOut, error) {
	return sample.Add(in), nil
}
