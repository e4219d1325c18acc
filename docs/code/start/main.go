// Command start is the code of docs/start.md.
package main

import (
	"context"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
)

// GreetIn is the input of the tool greet.
type GreetIn struct {
	Name  string `json:"name" doc:"who to greet" validate:"min=1,max=40"`
	Shout bool   `json:"shout,omitempty" doc:"in capital letters"`
}

// Greet is a plain Go function, without any protocol.
func Greet(_ context.Context, in GreetIn) (string, error) {
	if in.Shout {
		return "HELLO, " + in.Name + "!", nil
	}
	return "Hello, " + in.Name + "!", nil
}

// NewApp returns the app. Tests also call it.
func NewApp() *framework.App {
	return framework.New("start", "1.0.0").Add(
		framework.Tool("greet", Greet,
			framework.Describe("Greet a person by name."), framework.ReadOnly()),
	)
}

func main() { serve.Main(NewApp()) }
