// Package surface reads all components that a server offers to a client, and prints them for people
// (WriteText) or programs (WriteJSON). The flag --inspect and "kagami inspect" use it.
//
//	all, err := surface.Read(ctx, c, surface.All)
//	err = all.WriteText(os.Stdout)
//
// A server that prints itself adds what a client cannot see (Inside): where its components come
// from, and their chains. Parse reads the output of WriteJSON.
//
// [Schema] is a read-only view of a JSON Schema. It has what is needed to describe arguments or to
// fill them in. It does not validate.
//
// Values are plain data, and not safe for concurrent modification. The package keeps no reference
// to the client.
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
	Parts        Part // the parts that were read
	Server       protocol.Implementation
	Revision     string // the negotiated revision
	Instructions string
	Tools        []protocol.Tool
	Resources    []protocol.Resource
	Templates    []protocol.ResourceTemplate
	Prompts      []protocol.Prompt

	// Sent has the entries of lists as the server sent them, by the list's member of the result. If
	// Sent is nil, WriteJSON writes the entries in the form of the newest revision.
	Sent map[string][]json.RawMessage

	Inside *Inside // nil unless the server itself provided it
	Chains bool    // WriteText prints the chains in Inside
}

// Read reads all pages of the wanted lists that the server has by its capabilities. If the server
// does not know one of several lists, or the list of templates, that list is empty. Read returns the
// client's errors, wrapped.
func Read(ctx context.Context, c *client.Client, parts Part) (*Surface, error) {
	s := &Surface{
		Parts: parts, Server: c.Server(), Revision: c.Revision(), Instructions: c.Instructions(),
	}
	has := c.Capabilities()
	fatal := func(err error, part Part) bool { return err != nil && (!unknown(err) || parts == part) }
	if parts&Tools != 0 && has.Tools {
		if err := collect(&s.Tools, c.Tools(ctx)); fatal(err, Tools) {
			return nil, fmt.Errorf("listing tools: %w", err)
		}
	}
	if parts&Resources != 0 && has.Resources {
		if err := collect(&s.Resources, c.Resources(ctx)); fatal(err, Resources) {
			return nil, fmt.Errorf("listing resources: %w", err)
		}
	}
	if parts&Templates != 0 && has.Resources {
		if err := collect(&s.Templates, c.Templates(ctx)); err != nil && !unknown(err) {
			return nil, fmt.Errorf("listing resource templates: %w", err)
		}
	}
	if parts&Prompts != 0 && has.Prompts {
		if err := collect(&s.Prompts, c.Prompts(ctx)); fatal(err, Prompts) {
			return nil, fmt.Errorf("listing prompts: %w", err)
		}
	}
	return s, nil
}

// ReadSent is like Read, but also keeps the entries as the server sent them. They may have members
// of other revisions, and members of the server's own.
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

// mostPages is the maximum number of pages of a list; the client has the same bound.
const mostPages = 10_000

// mostBytes is the maximum size of all pages of a list together.
const mostBytes = 64 << 20

// Entries reads all pages of a list, and returns its entries as the server sent them. method is the
// list's method, such as "tools/list", and member is the name of the list in the result.
func Entries(ctx context.Context, c *client.Client, method, member string) ([]json.RawMessage, error) {
	var entries []json.RawMessage
	var params json.RawMessage
	seen, size, first := map[string]bool{}, 0, ""
	for range mostPages {
		result, err := c.Request(ctx, method, params)
		if err != nil {
			return nil, err
		}
		if size += len(result); size > mostBytes {
			return nil, fmt.Errorf("%s has more than %d MiB", method, mostBytes>>20)
		}
		cursor, more := jsontext.Member(result, "nextCursor")
		if params == nil {
			first = string(cursor)
		} else if string(params) == `{"cursor":""}` && more && string(cursor) == first {
			return entries, nil // the server writes "" for no cursor, and has sent the first page again
		}
		list, _ := jsontext.Member(result, member)
		for entry := range jsontext.Elements(list) {
			entries = append(entries, entry)
		}
		if !more || jsontext.KindOf(cursor) == jsontext.KindNull {
			return entries, nil
		}
		if seen[string(cursor)] {
			return nil, fmt.Errorf("%s does not end: the server repeats the cursor %s", method, jsontext.Clip(string(cursor), 100))
		}
		seen[string(cursor)] = true
		params = append(append([]byte(`{"cursor":`), cursor...), '}')
	}
	return nil, fmt.Errorf("%s does not end after %d pages", method, mostPages)
}

// unknown reports whether err means that the server does not know the method. Many servers declare
// a capability and do not answer its list, and many with resources but without templates do not
// answer resources/templates/list.
func unknown(err error) bool {
	refused, ok := errors.AsType[*protocol.Error](err)
	return ok && refused.Code == -32601 // JSON-RPC 2.0 §5.1: method not found
}

// collect appends the items of a list. It bounds their size, because a server may send new pages for
// ever.
func collect[T any](into *[]T, items iter.Seq2[T, error]) error {
	size := 0
	for item, err := range items {
		if err != nil {
			return err
		}
		text, _ := json.Marshal(item) // about as long as what the server sent
		if size += len(text); size > mostBytes {
			return fmt.Errorf("the list has more than %d MiB", mostBytes>>20)
		}
		*into = append(*into, item)
	}
	return nil
}
