package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/framework/serve/surface/contract"
	"github.com/kagami-mcp/kagami/protocol/client"
)

func (a *cli) lockCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "lock SERVER", Short: "Lock a server's API in a file, for diff",
		Long: `Lock a server's API in a JSON file that is easy to review. Commit the file. Later,
"kagami diff" shows what a change means for clients that know the old API.

The file does not contain the version of the server. It contains only what this caller can
see: a component that needs scopes is missing if the token of --bearer lacks them.`,
		Example: `  kagami lock ./examples/weather --output mcp.lock
  kagami lock https://mcp.example.com/mcp --output theirs.lock`,
		RunE: a.onServer(func(ctx context.Context, server []string) error {
			l, err := a.lockOf(ctx, server)
			if err != nil {
				return err
			}
			raw, err := l.Encode()
			if err != nil {
				return err
			}
			if output != "" {
				return os.WriteFile(output, raw, 0o644)
			}
			_, err = a.out.Write(raw)
			return err
		}),
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	a.completes(cmd, nil)
	return cmd
}

// lockOf reads what a server offers. If the newest revision does not list whether tools support
// tasks, lockOf reads that at an earlier revision.
func (a *cli) lockOf(ctx context.Context, server []string) (*contract.Lock, error) {
	defer a.buildOnce()()
	var l *contract.Lock
	err := a.look(ctx, server, func(ctx context.Context, c *client.Client) (err error) {
		l, err = contract.Read(ctx, c)
		return err
	})
	if err != nil || a.revision != "" || len(l.Tools) == 0 || l.Revision == contract.ListsTasks().String() {
		return l, err
	}
	// A server may refuse clients of that revision. The lock then does not contain whether tools
	// support tasks.
	_ = a.look(ctx, server, func(ctx context.Context, c *client.Client) error {
		all, err := surface.Read(ctx, c, surface.Tools)
		if err == nil {
			l.SetTasks(all.Tools)
		}
		return err
	}, client.Revisions(contract.ListsTasks().Revision()))
	return l, nil
}

// buildOnce makes all sessions until end use the same program of a Go package. end removes the
// programs.
func (a *cli) buildOnce() (end func()) {
	a.built = map[string]string{}
	return func() {
		for _, binary := range a.built {
			_ = removeAll(filepath.Dir(binary)) // the directory is temporary
		}
		a.built = nil
	}
}
