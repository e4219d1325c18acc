package client

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
)

// maxPages limits the pages of a list, in case the server never ends it.
const maxPages = 10_000

// Tools returns the server's tools, page by page (tools/list). An error ends the sequence. Over
// HTTP of 2026-07-28, it omits tools whose x-mcp-header declarations are invalid.
func (c *Client) Tools(ctx context.Context) iter.Seq2[protocol.Tool, error] {
	return pages(ctx, c, listing(protocol.ListTools), func(r *protocol.ListToolsResult) ([]protocol.Tool, *string) {
		return c.callable(r.Tools), r.Next
	})
}

// callable removes the tools whose required header fields cannot be sent (2026-07-28
// server/tools).
func (c *Client) callable(tools []protocol.Tool) []protocol.Tool {
	if c.http == nil || !c.dialect.Load().MirrorHeaders() {
		return tools
	}
	return slices.DeleteFunc(tools, func(t protocol.Tool) bool {
		_, err := dialect.Mirrors(t.InputSchema)
		return err != nil
	})
}

// Resources returns the server's resources, page by page (resources/list). An error ends the
// sequence.
func (c *Client) Resources(ctx context.Context) iter.Seq2[protocol.Resource, error] {
	return pages(ctx, c, listing(protocol.ListResources), func(r *protocol.ListResourcesResult) ([]protocol.Resource, *string) {
		return r.Resources, r.Next
	})
}

// Templates returns the server's resource templates, page by page (resources/templates/list). An
// error ends the sequence.
func (c *Client) Templates(ctx context.Context) iter.Seq2[protocol.ResourceTemplate, error] {
	return pages(ctx, c, listing(protocol.ListTemplates), func(r *protocol.ListTemplatesResult) ([]protocol.ResourceTemplate, *string) {
		return r.Templates, r.Next
	})
}

// Prompts returns the server's prompts, page by page (prompts/list). An error ends the sequence.
func (c *Client) Prompts(ctx context.Context) iter.Seq2[protocol.Prompt, error] {
	return pages(ctx, c, listing(protocol.ListPrompts), func(r *protocol.ListPromptsResult) ([]protocol.Prompt, *string) {
		return r.Prompts, r.Next
	})
}

// listing returns a function that makes the params of one page.
func listing(kind protocol.ListKind) func(*string) protocol.Params {
	return func(cursor *string) protocol.Params { return &protocol.ListParams{Kind: kind, Cursor: cursor} }
}

// pages requests one page after another. An absent cursor is the end; "" is a cursor like any other
// (2026-07-28 server/utilities/pagination), unless the list then begins again.
func pages[R protocol.Result, T any](
	ctx context.Context, c *Client, params func(cursor *string) protocol.Params, page func(R) ([]T, *string),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		var cursor *string
		var seen circle
		for range maxPages {
			r, err := ask[R](ctx, c, params(cursor), how{})
			if err != nil {
				yield(none, err)
				return
			}
			items, next := page(r)
			if seen.begins(cursor, next) {
				return
			}
			unwanted := func(item T) bool { return !yield(item, nil) }
			if slices.ContainsFunc(items, unwanted) || next == nil {
				return
			}
			if seen.closes(*next) {
				yield(none, fmt.Errorf("client: %s does not end: the server repeats the cursor %.100q", protocol.MethodOf(params(nil)), *next))
				return
			}
			cursor = next
		}
		yield(none, fmt.Errorf("client: %s does not end: %d pages", protocol.MethodOf(params(nil)), maxPages))
	}
}

// circle detects cursors that repeat. It remembers one cursor, and replaces it each time the number
// of cursors has doubled. A cycle of any length therefore returns to the remembered cursor.
type circle struct {
	first *string // cursor of the first page
	n     int
	mark  *string
}

// begins reports whether the page with the cursor next, which was requested with cursor, is the first
// page once more. Some servers write "" for no cursor, and read it as none. They answer "" with the
// first page again, and with its cursor.
func (c *circle) begins(cursor, next *string) bool {
	if cursor == nil {
		c.first = next
		return false
	}
	return *cursor == "" && next != nil && *next == *c.first
}

// closes reports whether cursor has come before, and remembers it.
func (c *circle) closes(cursor string) bool {
	if c.mark != nil && *c.mark == cursor {
		return true
	}
	if c.n++; c.n&(c.n-1) == 0 {
		c.mark = &cursor
	}
	return false
}
