package serve_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve"
)

type sum struct {
	A int `json:"a" doc:"first number"`
	B int `json:"b" doc:"second number"`
}

func calculator() *framework.App {
	return framework.New("calculator", "1.0.0").Add(
		framework.Tool("add", func(_ context.Context, in sum) (int, error) { return in.A + in.B, nil }, framework.Describe("Adds two numbers")),
	)
}

// Most programs end with Main: it reads the flags, serves, and exits.
func ExampleMain() {
	main := func() { serve.Main(calculator()) }
	_ = main
}

// A program with defers of its own calls Run.
func ExampleRun() {
	main := func() int {
		defer log.Println("the server has ended")
		return serve.ExitCode(serve.Run(context.Background(), calculator(), os.Args[1:]))
	}
	_ = main

	var out bytes.Buffer
	err := serve.Run(context.Background(), calculator(), []string{"--version"}, serve.Streams(strings.NewReader(""), &out, os.Stderr))
	fmt.Print(out.String(), err)
	// Output:
	// calculator 1.0.0
	// <nil>
}
