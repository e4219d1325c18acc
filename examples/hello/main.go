package main

import (
	"context"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
)

type Input struct {
	Name string `json:"name" doc:"who to greet" validate:"min=1"`
}

func Hello(_ context.Context, in Input) (string, error) {
	return "Hello, " + in.Name + "!", nil
}

func newApp() *framework.App {
	return framework.New("hello", "1.0.0").Add(
		framework.Tool("hello", Hello, framework.Describe("Greet a person by name.")),
	)
}

func main() { serve.Main(newApp()) }
