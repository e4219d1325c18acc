package framework

import (
	"net/url"
	"slices"
	"strconv"

	"github.com/kagami-mcp/kagami/protocol"
)

// withResourceURIs fills in missing resource URIs, whichever step of the chain made the contents. All
// revisions require a URI, and clients reject the whole result without one. Contents of a read
// get the requested URI; embedded contents get one derived from the component's name. The result
// is copied before it is changed, because other calls may share it.
func withResourceURIs(r protocol.Result, name string) protocol.Result {
	switch r := r.(type) {
	case *protocol.CallToolResult:
		if content, changed := mend(r.Content, func(i int, b protocol.Block) (protocol.Block, bool) { return withURI(b, name, i) }); changed {
			c := *r
			c.Content = content
			return &c
		}
	case *protocol.GetPromptResult:
		if messages, changed := mend(r.Messages, func(i int, m protocol.Message) (_ protocol.Message, changed bool) {
			m.Content, changed = withURI(m.Content, name, i)
			return m, changed
		}); changed {
			c := *r
			c.Messages = messages
			return &c
		}
	case *protocol.ReadResourceResult:
		if contents, changed := mend(r.Contents, func(_ int, c protocol.Contents) (protocol.Contents, bool) {
			changed := c.URI == ""
			if changed {
				c.URI = name
			}
			return c, changed
		}); changed {
			c := *r
			c.Contents = contents
			return &c
		}
	}
	return r
}

// mend applies fix to each item. If an item changes, mend returns a changed copy of the list.
func mend[T any](list []T, fix func(i int, item T) (T, bool)) (_ []T, changed bool) {
	for i, item := range list {
		if mended, did := fix(i, item); did {
			if !changed {
				list, changed = slices.Clone(list), true
			}
			list[i] = mended
		}
	}
	return list, changed
}

// withURI gives an embedded resource a URI if it does not have one. i is its index in the result.
func withURI(b protocol.Block, name string, i int) (_ protocol.Block, changed bool) {
	e, ok := b.(protocol.Embedded)
	if !ok || e.Contents.URI != "" {
		return b, false
	}
	e.Contents.URI = resultURI(name)
	if i > 0 { // most results have only one
		e.Contents.URI += "/" + strconv.Itoa(i)
	}
	return e, true
}

// resultURI returns a URI for contents that come from a result, not from a resource.
func resultURI(name string) string { return "result://" + url.PathEscape(name) }
