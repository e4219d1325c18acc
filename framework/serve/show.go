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

// show answers --inspect and --version. Who the server is it asks the server as a client
// would, in memory. What it has is taken from its catalog, so that all of it is shown,
// and that no middleware refuses, counts or audits who looks; components that a start
// hook adds are there, too.
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
	all := &surface.Surface{Server: c.Server(), Revision: c.Revision(), Instructions: c.Instructions()}
	if err := fill(all, server.Inspect()); err != nil {
		return fmt.Errorf("inspecting the server: %w", err)
	}
	if f.inspect == inspectJSON {
		return all.WriteJSON(s.out)
	}
	return all.WriteText(s.out)
}

// fill adds what the server has.
func fill(all *surface.Surface, found *framework.Inspection) error {
	inside := &surface.Inside{Lists: chainOf(found.Lists)}
	listed := make(map[string][]json.RawMessage)
	for _, c := range found.Components {
		if !c.Hidden {
			listed[c.Kind] = append(listed[c.Kind], c.Listed)
		}
		inside.Components = append(inside.Components, surface.Component{
			Kind: c.Kind, Name: c.Name, Group: c.Group, Scopes: c.Scopes, Hidden: c.Hidden,
			Function: c.Function, Where: c.Where, Added: c.Added, Chain: chainOf(c.Chain),
		})
	}
	all.Inside = inside
	return errors.Join(
		all.Fill(surface.Tools, listed["tool"]), all.Fill(surface.Resources, listed["resource"]),
		all.Fill(surface.Templates, listed["template"]), all.Fill(surface.Prompts, listed["prompt"]),
	)
}

func chainOf(steps []framework.Step) []surface.Step {
	var all []surface.Step
	for _, s := range steps {
		step := surface.Step{Name: s.Name, Origin: string(s.Origin), PerCall: s.PerCall}
		if s.Origin != framework.OriginEngine {
			step.Phase = s.Phase.String()
		}
		all = append(all, step)
	}
	return all
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
