// Command everything-client is a client for the official conformance suite. The suite
// starts it once for each scenario, with the server's URL as the last argument and the
// other inputs in the environment:
//
//	MCP_CONFORMANCE_SCENARIO=http-standard-headers go run ./examples/everything-client http://127.0.0.1:8080/mcp
//
// It prints nothing if the server (here ./examples/everything --http :8080) passes. In
// the scenarios of authorization (auth/...) it logs in without a user.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
)

func main() {
	if err := fromSuite(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "everything-client:", err)
		os.Exit(1)
	}
}

func fromSuite(ctx context.Context, args []string) error {
	scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	if len(args) == 0 || scenario == "" || strings.HasPrefix(args[len(args)-1], "-") {
		return errors.New("usage: MCP_CONFORMANCE_SCENARIO=name everything-client URL")
	}
	var opts []client.Option
	if date := os.Getenv("MCP_CONFORMANCE_PROTOCOL_VERSION"); date != "" { // version 0.1.16 of the suite does not set it
		rev, ok := protocol.ParseRevision(date)
		if !ok {
			return fmt.Errorf("unknown revision %q", date)
		}
		opts = append(opts, client.Revisions(rev))
	}
	var how []client.HTTPOption
	if strings.HasPrefix(scenario, "auth/") {
		login, err := authorized(scenario)
		if err != nil {
			return err
		}
		how = append(how, login)
	}
	return run(ctx, scenario, client.HTTP(args[len(args)-1], how...), opts...)
}

// run runs one scenario against the server.
func run(ctx context.Context, scenario string, to client.Target, opts ...client.Option) error {
	play, ok := scenarios[scenario]
	if strings.HasPrefix(scenario, "auth/") {
		play, ok = calls(toolCall{Name: "test-tool"}), true
	}
	if !ok {
		return fmt.Errorf("unknown scenario %q", scenario)
	}
	opts = append(opts, client.Name("everything-client", "1.0.0"), client.OnElicit(answer))
	c, err := client.Connect(ctx, to, opts...)
	if err != nil {
		return err
	}
	return errors.Join(play(ctx, c), c.Close())
}
