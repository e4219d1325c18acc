package client_test

import (
	"context"
	"fmt"
	"log"
	"os/exec"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// A client starts a program, or connects to a URL with HTTP, and need not know which revision the server
// speaks.
func ExampleConnect() {
	ctx := context.Background()
	c, err := client.Connect(ctx, client.Command(exec.Command("weather-server")), client.Name("demo", "1.0.0"))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(tool.Name, tool.Description)
	}
	result, err := c.CallTool(ctx, "forecast", map[string]any{"city": "Kyoto"})
	if err != nil {
		log.Fatal(err)
	}
	for _, block := range result.Content {
		if text, ok := block.(protocol.Text); ok {
			fmt.Println(text.Text)
		}
	}
}

// The client answers what the server asks while it works on a call.
func ExampleOnElicit() {
	ask := client.OnElicit(func(_ context.Context, q *client.ElicitRequest) (*client.ElicitAnswer, error) {
		fmt.Println(q.Message)
		return &client.ElicitAnswer{Action: "accept", Content: map[string]any{"confirm": true}}, nil
	})
	c, err := client.Connect(context.Background(), client.HTTP("https://shop.example.com/mcp"), ask)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = c.Close() }()
}

// A token is asked for before each request, so that it may be a new one.
func ExampleBearerToken() {
	token := client.BearerToken(func(context.Context) (string, error) { return "the token", nil })
	_ = client.HTTP("https://shop.example.com/mcp", token, client.Header("X-Team", "tea"))
}
