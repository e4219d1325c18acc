package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/protocol/client"
)

// list prints one line for each component.
func (a *cli) list(ctx context.Context, server []string) error {
	if a.json {
		return a.showServer(ctx, server, surface.All)
	}
	return a.look(ctx, server, func(ctx context.Context, c *client.Client) error {
		all, err := surface.Read(ctx, c, surface.All)
		if err != nil {
			return err
		}
		a.noteUndeclared(c)
		return a.print(cmp.Or(listed(all), "Nothing is offered.\n"))
	})
}

// component is something that a server offers.
type component struct{ kind, name, about string }

// componentsOf returns what a server offers.
func componentsOf(all *surface.Surface) []component {
	var found []component
	for _, t := range all.Tools {
		found = append(found, component{"tool", t.Name, cmp.Or(t.Description, t.Title)})
	}
	for _, r := range all.Resources {
		found = append(found, component{"resource", r.URI, cmp.Or(r.Description, r.Title)})
	}
	for _, t := range all.Templates {
		found = append(found, component{"template", t.URITemplate, cmp.Or(t.Description, t.Title)})
	}
	for _, p := range all.Prompts {
		found = append(found, component{"prompt", p.Name, cmp.Or(p.Description, p.Title)})
	}
	return found
}

// namesOf returns the names of the components of one kind.
func namesOf(all *surface.Surface, kind string) []string {
	var names []string
	for _, one := range componentsOf(all) {
		if one.kind == kind {
			names = append(names, one.name)
		}
	}
	return names
}

// listed returns a table of what a server offers.
func listed(all *surface.Surface) string {
	width := 0
	for _, row := range componentsOf(all) {
		width = max(width, min(columns.StringWidth(onOneLine(row.name)), 40))
	}
	var out strings.Builder
	for _, row := range componentsOf(all) {
		_, _ = fmt.Fprintf(&out, "%-8s  %s  %s\n", row.kind, columns.FillRight(onOneLine(row.name), width), firstSentence(row.about))
	}
	return out.String()
}

// firstSentence returns the first sentence of a description on one line, or its beginning if it is
// long.
func firstSentence(text string) string {
	text = onOneLine(text)
	if end := strings.Index(text, ". "); end >= 0 {
		text = text[:end+1]
	}
	return cutTo(text, 100)
}
