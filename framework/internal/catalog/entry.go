package catalog

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// Kind is what an entry is. The first four have the values of protocol.ListKind.
type Kind uint8

// The kinds of entries.
const (
	Tool     = Kind(protocol.ListTools)
	Resource = Kind(protocol.ListResources)
	Template = Kind(protocol.ListTemplates)
	Prompt   = Kind(protocol.ListPrompts)
	Method   = Prompt + 1 // a JSON-RPC method that the specification does not have; in no list
)

const (
	listKinds = 4
	kinds     = 5
)

// Entry is one registered component. It must not be changed once it was given
// to Update, and belongs to one Registry.
type Entry struct {
	Kind   Kind
	Key    string   // name of a tool, prompt or method; URI; URI template: unique within its kind
	Scopes []string // the caller must have all of them
	Hidden bool     // served but not listed

	Tasks bool // calls of the tool may become tasks

	// Mirrors are the arguments of a tool that HTTP requests repeat in headers.
	Mirrors []dialect.Mirror

	// Wire is the listed form in each dialect.
	Wire map[*dialect.Dialect][]byte

	// Handler serves the calls.
	Handler engine.Handler
	// Match finds the handler for a URI of a template: nil if the URI is none of
	// the template's, an error if it is one but must not be served.
	Match func(uri string) (engine.Handler, error)
	// Prefix is what all URIs of a template begin with: Match is not asked about others.
	Prefix string
	// Specificity orders templates: the highest that matches serves.
	Specificity int
	// Complete is nil where nothing can be completed.
	Complete func(ctx context.Context, c *engine.Call, p *protocol.CompleteParams) (*protocol.Completion, error)
	// Subscribe returns an error if a caller that may know of the entry must not receive updates of the
	// URI. If it is nil, every such caller may.
	Subscribe func(ctx context.Context, c *engine.Call, uri string) error

	order uint64 // place in the lists; set by Update
}

// VisibleTo reports whether a caller with these scopes may know of the entry, list it and
// call it. Nothing else decides that.
func (e *Entry) VisibleTo(p *transport.Principal) bool {
	for _, scope := range e.Scopes {
		if !p.Has(scope) {
			return false
		}
	}
	return true
}

// listsLike reports whether lists show e and other alike, to the same callers. It is false for nil.
func (e *Entry) listsLike(other *Entry) bool {
	return e != nil && e.Hidden == other.Hidden && slices.Equal(e.Scopes, other.Scopes) && maps.EqualFunc(e.Wire, other.Wire, bytes.Equal)
}

// open reports whether every client may be notified of changes of the entry.
func (e *Entry) open() bool { return len(e.Scopes) == 0 && e.Subscribe == nil }

// visibleIn is VisibleTo for the caller of ctx, who is looked up only if the entry has scopes;
// false for nil.
func (e *Entry) visibleIn(ctx context.Context) bool {
	return e != nil && (len(e.Scopes) == 0 || e.VisibleTo(transport.PrincipalFrom(ctx)))
}
