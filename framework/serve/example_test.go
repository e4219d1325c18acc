package serve_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

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

// A program with defers of its own calls Run. Unlike Main, Run handles no signals and prints no error.
func ExampleRun() {
	main := func() int { // for os.Exit
		defer log.Println("the server has ended")
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		context.AfterFunc(ctx, stop) // a second signal ends the program at once
		err := serve.Run(ctx, calculator(), os.Args[1:])
		if err != nil {
			log.Println(err)
		}
		return serve.ExitCode(err)
	}
	_ = main

	var out bytes.Buffer
	err := serve.Run(context.Background(), calculator(), []string{"--version"}, serve.Streams(strings.NewReader(""), &out, os.Stderr))
	fmt.Print(out.String(), err)
	// Output:
	// calculator 1.0.0
	// <nil>
}
