// Package inspect shows what a server consists of, as "kagami inspect" reads it. Package
// serve has it built in; a program with flags of its own, for instance one with mcpfx, adds
// a flag and a carrier:
//
//	var look inspect.Format
//	flag.Var(&look, "inspect", "print what the server offers, and exit")
//	flag.Parse()
//	carrier := mcpfx.Stdio()
//	if look.Wanted() {
//		carrier = mcpfx.Carrier(look.Carrier(os.Stdout))
//	}
//
// The program starts as it would to serve, start hooks included, and ends when everything
// is shown. The package calls nothing else: no middleware sees the inspection.
package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/transport"
)

// Format says how the server is shown. It is a flag.Value that needs no value. With the
// zero Format nothing is shown.
type Format string

// Formats: for people, and for programs.
const (
	Text Format = "text"
	JSON Format = "json"
)

// Wanted reports whether the server is to be shown.
func (f *Format) Wanted() bool { return *f != "" }

// String returns the value of the flag.
func (f *Format) String() string { return string(*f) }

// Set takes the value after "=", or "true" if there is none.
func (f *Format) Set(text string) error {
	switch text {
	case "true", "text", "1":
		*f = Text
	case "json":
		*f = JSON
	case "false", "0":
		*f = ""
	default:
		return errors.New("want text or json")
	}
	return nil
}

// IsBoolFlag allows the flag without a value.
func (*Format) IsBoolFlag() bool { return true }

// Write shows what Surface has found on w.
func (f *Format) Write(w io.Writer, all *surface.Surface) error {
	if *f == JSON {
		return all.WriteJSON(w)
	}
	return all.WriteText(w)
}

// Carrier returns a carrier that, instead of serving, shows the server on w and ends.
func (f *Format) Carrier(w io.Writer) transport.Transport { return &carrier{w, *f} }

type carrier struct {
	w      io.Writer
	format Format
}

// Serve shows the host.
func (c *carrier) Serve(ctx context.Context, host transport.Host) error {
	server, ok := host.(*framework.Server)
	if !ok {
		return fmt.Errorf("inspecting the server: a %T does not show itself", host)
	}
	all, err := Surface(ctx, server)
	if err != nil {
		return err
	}
	return c.format.Write(c.w, all)
}

// Surface returns what the server has. Its name and capabilities are asked for as by a
// client, in memory; the rest is taken from its catalog, so that it is complete no matter
// who may see what, and includes what a start hook adds.
func Surface(ctx context.Context, server *framework.Server) (_ *surface.Surface, err error) {
	c, err := client.Connect(ctx, client.InMemory(server), client.Name("inspect", "1"))
	if err != nil {
		return nil, fmt.Errorf("inspecting the server: %w", err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	all := &surface.Surface{Server: c.Server(), Revision: c.Revision(), Instructions: c.Instructions()}
	if err := fill(all, server.Inspect()); err != nil {
		return nil, fmt.Errorf("inspecting the server: %w", err)
	}
	return all, nil
}

// Inside returns what the server knows of itself and no client sees: where its components come
// from, and their chains.
func Inside(server *framework.Server) *surface.Inside { return insideOf(server.Inspect()) }

func insideOf(found *framework.Inspection) *surface.Inside {
	inside := &surface.Inside{Lists: chainOf(found.Lists)}
	for _, f := range found.Warnings {
		inside.Warnings = append(inside.Warnings, surface.Warning{
			Component: f.Component, Where: f.Where, Function: f.Function, Path: f.Path, Problem: f.Problem, Fix: f.Fix,
		})
	}
	for _, c := range found.Components {
		inside.Components = append(inside.Components, surface.Component{
			Kind: c.Kind, Name: c.Name, Group: c.Group, Scopes: c.Scopes, Hidden: c.Hidden,
			Function: c.Function, Where: c.Where, Added: c.Added, Chain: chainOf(c.Chain),
		})
	}
	return inside
}

// fill adds what the server has.
func fill(all *surface.Surface, found *framework.Inspection) error {
	listed := make(map[string][]json.RawMessage)
	for _, c := range found.Components {
		if !c.Hidden {
			listed[c.Kind] = append(listed[c.Kind], c.Listed)
		}
	}
	all.Inside = insideOf(found)
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
