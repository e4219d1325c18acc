package main

import (
	"context"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/transport/stdio"
)

// standInAfter is how long a client on stdin waits for the first build before a stand-in serves it.
// Some clients give up after 10 seconds.
const standInAfter = 5 * time.Second

// standIn starts a stand-in for the server if the client on stdin still waits for a process.
func (d *developer) standIn(ctx context.Context) {
	if d.late == nil {
		return
	}
	d.late = nil
	program, err := os.Executable()
	if err == nil {
		err = d.bridge.Replace(ctx, exec.Command(program, "stand-in")) //nolint:noctx // the bridge ends the process
	}
	if err != nil {
		d.cli.say("the client waits until the server is built: %v", err)
		return
	}
	d.stood = true
}

// standInCommand is the process that standIn starts.
func (a *cli) standInCommand() *cobra.Command {
	return &cobra.Command{
		Use: "stand-in", Hidden: true, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, err := newStandIn()
			if err != nil {
				return err
			}
			return server.Serve(cmd.Context(), stdio.New(stdio.Streams(a.in, a.out)))
		},
	}
}

// newStandIn returns a server with one tool. Its answer is that the real server is not built yet. The
// server also declares resources and prompts. Without that, clients would not ask for the lists of the
// real server.
func newStandIn() (*framework.Server, error) {
	resource := framework.Resource("kagami-dev:///", func(context.Context) (string, error) { return "", nil })
	prompt := framework.Prompt("kagami_dev", func(context.Context, struct{}) (framework.Messages, error) { return nil, nil })
	server, err := framework.New("kagami dev", version()).Add(
		framework.Tool("kagami_dev", func(context.Context, struct{}) (string, error) {
			return "The server is still being built. Its tools appear when it is ready.", nil
		}, framework.Describe("Returns why the server has not started yet."), framework.ReadOnly()),
		resource, prompt,
	).Build()
	if err != nil {
		return nil, err
	}
	server.Remove(resource, prompt) // their capabilities stay declared
	return server, nil
}
