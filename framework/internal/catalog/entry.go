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

// Kind is the kind of an entry. The first four kinds have the values of protocol.ListKind.
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

// Entry is one registered component. It belongs to one Registry, and must not be
// changed after the call of Update.
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
	// Match returns the handler for a URI of a template. It returns nil if the template does not
	// match the URI, and an error if it does but the URI must not be served.
	Match func(uri string) (engine.Handler, error)
	// Prefix is the beginning of all URIs of a template. Match is not called for other URIs.
	Prefix string
	// Specificity orders templates: of all that match, the one with the highest value serves.
	Specificity int
	// Complete completes an argument or a variable. It is nil if the entry is not a prompt or a template.
	Complete func(ctx context.Context, c *engine.Call, p *protocol.CompleteParams) (*protocol.Completion, error)
	// Subscribe returns an error if a caller that may know of the entry must not receive updates of the
	// URI. If it is nil, every such caller may.
	Subscribe func(ctx context.Context, c *engine.Call, uri string) error

	order uint64 // place in the lists; set by Update
}

// VisibleTo reports whether a caller with these scopes may learn of the entry, list it and call it. Only the
// scopes decide that.
func (e *Entry) VisibleTo(p *transport.Principal) bool {
	for _, scope := range e.Scopes {
		if !p.Has(scope) {
			return false
		}
	}
	return true
}

// listsLike reports whether lists show e and other alike, to the same callers. If e is nil, it returns false.
func (e *Entry) listsLike(other *Entry) bool {
	return e != nil && e.Hidden == other.Hidden && slices.Equal(e.Scopes, other.Scopes) && maps.EqualFunc(e.Wire, other.Wire, bytes.Equal)
}

// open reports whether every client may be notified of changes of the entry.
func (e *Entry) open() bool { return len(e.Scopes) == 0 && e.Subscribe == nil }

// visibleIn is VisibleTo for the caller of ctx. It looks the caller up only if the entry has scopes. If e is
// nil, it returns false.
func (e *Entry) visibleIn(ctx context.Context) bool {
	return e != nil && (len(e.Scopes) == 0 || e.VisibleTo(transport.PrincipalFrom(ctx)))
}
