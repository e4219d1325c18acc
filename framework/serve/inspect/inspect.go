// Package inspect shows what a server consists of, as "kagami inspect" reads it. Package
// serve does so by itself; a program with flags of its own, one of mcpfx for instance,
// has a flag and a carrier more:
//
//	var look inspect.Format
//	flag.Var(&look, "inspect", "print what the server offers, and exit")
//	flag.Parse()
//	carrier := mcpfx.Stdio()
//	if look.Wanted() {
//		carrier = mcpfx.Carrier(look.Carrier(os.Stdout))
//	}
//
// The program starts as it would to serve, start hooks included, and ends when all is
// shown. The package runs and calls nothing else: no middleware sees who looks.
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

// Format is how it is shown. It is a flag.Value that needs no value. The zero Format:
// not at all.
type Format string

// Formats: for people, and for programs.
const (
	Text Format = "text"
	JSON Format = "json"
)

// Wanted says whether there is anything to show.
func (f *Format) Wanted() bool { return *f != "" }

// String is the value of the flag.
func (f *Format) String() string { return string(*f) }

// Set takes the value after "=", or "true" where there is none.
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

// IsBoolFlag lets the flag stand alone.
func (*Format) IsBoolFlag() bool { return true }

// Write shows what Surface has found.
func (f *Format) Write(w io.Writer, all *surface.Surface) error {
	if *f == JSON {
		return all.WriteJSON(w)
	}
	return all.WriteText(w)
}

// Carrier shows the server to w and then ends, in place of one that serves.
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

// Surface is what the server has. Who it is it is asked as by a client, in memory; the
// rest is taken from its catalog, so that all of it is there whoever may see it, what a
// start hook adds included.
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
