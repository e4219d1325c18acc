package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// show answers --inspect and --version. It asks the server as a client would,
// in memory, so that it prints what clients see: components that need scopes or
// are hidden, and those that a start hook adds, are not shown.
func (s *settings) show(ctx context.Context, server *framework.Server, f *flags) (err error) {
	c, err := client.Connect(ctx, client.InMemory(server), client.Name("inspect", "1"))
	if err != nil {
		return fmt.Errorf("inspecting the server: %w", err)
	}
	defer func() { err = errors.Join(err, c.Close(), server.Shutdown(ctx)) }()
	if f.version {
		who := c.Server()
		_, err = fmt.Fprintln(s.out, who.Name, who.Version)
		return err
	}
	all, err := surface.Read(ctx, c, surface.All)
	if err != nil {
		return fmt.Errorf("inspecting the server: %w", err)
	}
	if f.inspect == inspectJSON {
		return all.WriteJSON(s.out)
	}
	return all.WriteText(s.out)
}

// broken answers --inspect=json of an app that does not build: who asked for JSON
// is a program, and it gets the report as it would have got the surface. The
// error is that of Build all the same: people find its text on stderr.
func (s *settings) broken(err error, f *flags) error {
	var report *framework.BuildError
	if f.inspect != inspectJSON || f.version || !errors.As(err, &report) {
		return err
	}
	out := json.NewEncoder(s.out)
	out.SetIndent("", "  ")
	if failure := out.Encode(report); failure != nil {
		return errors.Join(err, fmt.Errorf("writing the report: %w", failure))
	}
	return err
}
