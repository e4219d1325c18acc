// Command start is the code of docs/start.md.
package main

import (
	"context"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
)

// GreetIn is what the model fills in.
type GreetIn struct {
	Name  string `json:"name" doc:"who to greet" validate:"min=1,max=40"`
	Shout bool   `json:"shout,omitempty" doc:"say it loudly"`
}

// Greet is a plain Go function: no protocol in sight.
func Greet(_ context.Context, in GreetIn) (string, error) {
	if in.Shout {
		return "HELLO, " + in.Name + "!", nil
	}
	return "Hello, " + in.Name + "!", nil
}

// NewApp is a function of its own so that tests can have it.
func NewApp() *framework.App {
	return framework.New("start", "1.0.0").Add(
		framework.Tool("greet", Greet,
			framework.Describe("Greet somebody by name."), framework.ReadOnly()),
	)
}

func main() { serve.Main(NewApp()) }
