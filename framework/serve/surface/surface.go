// Package surface reads all that a server offers through a client, and prints it
// for people (WriteText) or programs (WriteJSON). It is what --inspect and
// "kagami inspect" show. A server that shows itself adds what no client sees: where its
// components come from, and their chains (Inside); Parse reads what it has printed.
//
//	all, err := surface.Read(ctx, c, surface.All)
//	err = all.WriteText(os.Stdout)
//
// [Schema] is a read-only view of a JSON Schema as far as one has to know it to
// describe arguments or to fill them in; it does not validate.
//
// Values are plain data, not safe for concurrent modification. The package keeps
// no reference to the client.
package surface

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/client"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// Part is a kind of component, or several.
type Part uint8

// The parts of a surface.
const (
	Tools Part = 1 << iota
	Resources
	Templates
	Prompts

	All = Tools | Resources | Templates | Prompts
)

// Surface is what a server offers to one client.
type Surface struct {
	Parts        Part // what was read
	Server       protocol.Implementation
	Revision     string // the negotiated one
	Instructions string
	Tools        []protocol.Tool
	Resources    []protocol.Resource
	Templates    []protocol.ResourceTemplate
	Prompts      []protocol.Prompt

	// Sent are the entries of lists as the server sent them, by the list's member of the result;
	// nil: WriteJSON writes them as the newest revision has them.
	Sent map[string][]json.RawMessage

	Inside *Inside // nil: only the server itself knows
	Chains bool    // WriteText prints the chains in Inside
}

// Read asks for all pages of the wanted lists that the server says it has. One that knows
// no list of templates has none. Errors are those of the client, wrapped.
func Read(ctx context.Context, c *client.Client, parts Part) (*Surface, error) {
	s := &Surface{
		Parts: parts, Server: c.Server(), Revision: c.Revision(), Instructions: c.Instructions(),
	}
	has := c.Capabilities()
	if parts&Tools != 0 && has.Tools {
		if err := collect(&s.Tools, c.Tools(ctx)); err != nil {
			return nil, fmt.Errorf("listing tools: %w", err)
		}
	}
	if parts&Resources != 0 && has.Resources {
		if err := collect(&s.Resources, c.Resources(ctx)); err != nil {
			return nil, fmt.Errorf("listing resources: %w", err)
		}
	}
	if parts&Templates != 0 && has.Resources {
		if err := collect(&s.Templates, c.Templates(ctx)); err != nil && !unknown(err) {
			return nil, fmt.Errorf("listing resource templates: %w", err)
		}
	}
	if parts&Prompts != 0 && has.Prompts {
		if err := collect(&s.Prompts, c.Prompts(ctx)); err != nil {
			return nil, fmt.Errorf("listing prompts: %w", err)
		}
	}
	return s, nil
}

// ReadSent is Read, and keeps the entries as the server sent them, with members of other revisions and
// of the server's own.
func ReadSent(ctx context.Context, c *client.Client, parts Part) (*Surface, error) {
	s, err := Read(ctx, c, parts)
	if err != nil {
		return nil, err
	}
	s.Sent = map[string][]json.RawMessage{}
	for _, l := range []struct {
		method, member string
		known          int
	}{
		{protocol.MethodListTools, "tools", len(s.Tools)},
		{protocol.MethodListResources, "resources", len(s.Resources)},
		{protocol.MethodListTemplates, "resourceTemplates", len(s.Templates)},
		{protocol.MethodListPrompts, "prompts", len(s.Prompts)},
	} {
		if l.known == 0 {
			continue
		}
		if s.Sent[l.member], err = Entries(ctx, c, l.method, l.member); err != nil {
			return nil, fmt.Errorf("calling %s: %w", l.method, err)
		}
	}
	return s, nil
}

// mostPages bounds the pages of a list, as the client does.
const mostPages = 10_000

// Entries reads all pages of a list, and returns its entries as the server sent them. method is
// the list's own, such as "tools/list", and member the name of the list in the result.
func Entries(ctx context.Context, c *client.Client, method, member string) ([]json.RawMessage, error) {
	var entries []json.RawMessage
	var params json.RawMessage
	for range mostPages {
		result, err := c.Request(ctx, method, params)
		if err != nil {
			return nil, err
		}
		list, _ := jsontext.Member(result, member)
		for entry := range jsontext.Elements(list) {
			entries = append(entries, entry)
		}
		cursor, more := jsontext.Member(result, "nextCursor")
		if !more || jsontext.KindOf(cursor) == jsontext.KindNull {
			break
		}
		params = append(append([]byte(`{"cursor":`), cursor...), '}')
	}
	return entries, nil
}

// unknown says that the server does not know the method. Many servers with resources but
// without templates do not answer resources/templates/list.
func unknown(err error) bool {
	refused, ok := errors.AsType[*protocol.Error](err)
	return ok && refused.Code == -32601 // JSON-RPC 2.0 §5.1: method not found
}

func collect[T any](into *[]T, items iter.Seq2[T, error]) error {
	for item, err := range items {
		if err != nil {
			return err
		}
		*into = append(*into, item)
	}
	return nil
}
