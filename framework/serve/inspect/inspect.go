// Package inspect prints the components of a server, in the format that "kagami inspect" reads.
// Package serve has it built in. A program with flags of its own, for example one with mcpfx, adds
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
// The program starts as it would to serve, including start hooks, and ends when everything is
// printed. The package calls no component, and no middleware, not even of UseFrames, sees the
// inspection.
package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/transport"
)

// Format is the output format. It is a flag.Value that needs no value. With the zero Format nothing
// is printed.
type Format string

// The formats: for people, and for programs.
const (
	Text Format = "text"
	JSON Format = "json"
)

// Wanted reports whether the flag was given.
func (f *Format) Wanted() bool { return *f != "" }

// String returns the value of the flag.
func (f *Format) String() string { return string(*f) }

// Set sets the format from the value after "=", or from "true" if there is none.
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

// IsBoolFlag reports that the flag can be given without a value.
func (*Format) IsBoolFlag() bool { return true }

// Write writes the surface that Surface returned to w.
func (f *Format) Write(w io.Writer, all *surface.Surface) error {
	if *f == JSON {
		return all.WriteJSON(w)
	}
	return all.WriteText(w)
}

// Carrier returns a carrier that writes the server's components to w instead of serving, and then
// ends. The server also runs tasks of a shared store. To prevent that, set
// framework.WithTaskWorkers(0).
func (f *Format) Carrier(w io.Writer) transport.Transport { return &carrier{w, *f} }

type carrier struct {
	w      io.Writer
	format Format
}

// Serve writes the components of the host. The host must be a framework.Server.
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

// Surface starts the server, and returns its components. It reads them from the server's catalog.
// Therefore they are complete regardless of permissions, and include components that a start hook
// has added.
func Surface(ctx context.Context, server *framework.Server) (*surface.Surface, error) {
	if err := server.Start(ctx); err != nil {
		return nil, fmt.Errorf("inspecting the server: %w", err)
	}
	found := server.Inspect()
	all := &surface.Surface{Server: found.Server, Revision: found.Revision, Instructions: found.Instructions, Inside: insideOf(found)}
	listed := make(map[string][]json.RawMessage)
	for _, c := range found.Components {
		if !c.Hidden {
			listed[c.Kind] = append(listed[c.Kind], c.Listed)
		}
	}
	if err := errors.Join(
		all.Fill(surface.Tools, listed["tool"]), all.Fill(surface.Resources, listed["resource"]),
		all.Fill(surface.Templates, listed["template"]), all.Fill(surface.Prompts, listed["prompt"]),
	); err != nil {
		return nil, fmt.Errorf("inspecting the server: %w", err)
	}
	return all, nil
}

// Inside returns what the server reports about itself and a client cannot see: where its components
// come from, and their chains.
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

func chainOf(steps []framework.Step) []surface.Step {
	var all []surface.Step
	for _, s := range steps {
		step := surface.Step{Name: s.Name, Origin: s.Origin, PerCall: s.PerCall}
		if s.Origin != "engine" {
			step.Phase = s.Phase.String()
		}
		all = append(all, step)
	}
	return all
}
