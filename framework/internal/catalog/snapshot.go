package catalog

import (
	"context"
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/engine"
	"github.com/kagami-mcp/kagami/transport"
)

// Snapshot is the catalog at one moment: immutable, safe for concurrent use.
type Snapshot struct {
	cfg          *Config
	all          []*Entry // in order
	byKey        [kinds]map[string]*Entry
	byNormal     map[string]*Entry // resources by the normal form of their URI; the first of several
	lists        [listKinds]list
	templates    templates
	capabilities protocol.ServerCapabilities
	pages        pages
}

var _ engine.Snapshot = (*Snapshot)(nil)

// list is one list, ready to be cut into pages.
type list struct {
	listed []*Entry // all entries that are not hidden, in order
	groups []*Entry // one entry for each set of scopes that an entry demands
}

// scoped reports whether the list depends on the caller.
func (l *list) scoped() bool { return len(l.groups) > 0 }

// newSnapshot returns the snapshot of all entries. before are the capabilities of the last snapshot. They stay
// declared, because clients know them and continue to request lists that are empty now.
func newSnapshot(cfg *Config, all []*Entry, before protocol.ServerCapabilities) *Snapshot {
	s := &Snapshot{cfg: cfg, all: all}
	for i := range s.byKey {
		s.byKey[i] = make(map[string]*Entry)
	}
	s.byNormal = make(map[string]*Entry)
	var templates []*Entry
	for _, e := range all {
		s.byKey[e.Kind][e.Key] = e
		if e.Kind == Resource {
			if normal := protocol.NormalURI(e.Key); s.byNormal[normal] == nil {
				s.byNormal[normal] = e
			}
		}
		if e.Kind == Template {
			templates = append(templates, e)
		}
		if !e.Hidden && e.Kind != Method {
			s.lists[e.Kind].add(e)
		}
	}
	s.templates = indexed(templates)
	s.capabilities = s.capable(before)
	return s
}

func (l *list) add(e *Entry) {
	l.listed = append(l.listed, e)
	if len(e.Scopes) > 0 && !slices.ContainsFunc(l.groups, func(g *Entry) bool { return slices.Equal(g.Scopes, e.Scopes) }) {
		l.groups = append(l.groups, e)
	}
}

// capable declares the capabilities of the current entries, and all that were declared before. Logging is
// always declared, because any handler may send a log message at any time.
func (s *Snapshot) capable(before protocol.ServerCapabilities) protocol.ServerCapabilities {
	tools := before.Tools || len(s.byKey[Tool]) > 0
	resources := before.Resources || len(s.byKey[Resource])+len(s.byKey[Template]) > 0
	prompts := before.Prompts || len(s.byKey[Prompt]) > 0
	return protocol.ServerCapabilities{
		Tools: tools, ToolsListChanged: tools,
		Resources: resources, ResourcesSubscribe: resources, ResourcesChanged: resources,
		Prompts: prompts, PromptsListChanged: prompts,
		Completions: before.Completions || prompts || len(s.byKey[Template]) > 0,
		Logging:     true,
		Tasks:       before.Tasks || slices.ContainsFunc(s.all, func(e *Entry) bool { return e.Kind == Tool && e.Tasks }),
	}
}

// Capabilities returns the capabilities of the server, as far as components decide them.
func (s *Snapshot) Capabilities() protocol.ServerCapabilities { return s.capabilities }

// Find returns the handler of a call. For an entry that the caller must not see, it returns the same error as
// for an unknown one, unless Config.Forbidden decides otherwise.
func (s *Snapshot) Find(ctx context.Context, c *engine.Call, p protocol.Params) (engine.Handler, error) {
	var e *Entry
	var err error
	switch p := p.(type) {
	case *protocol.CallToolParams:
		e, err = s.named(ctx, c, Tool, p.Name)
	case *protocol.GetPromptParams:
		e, err = s.named(ctx, c, Prompt, p.Name)
	case *protocol.CustomParams:
		e, err = s.named(ctx, c, Method, p.Name)
	case *protocol.ReadResourceParams:
		_, h, err := s.resource(ctx, c, p.URI)
		return h, err
	default:
		return nil, unknownMethod(protocol.MethodOf(p))
	}
	if err != nil {
		return nil, err
	}
	return e.Handler, nil
}

func unknownMethod(name string) *protocol.Fault {
	return protocol.Faultf(protocol.FaultMethodNotFound, "method not found: %q", Clip(name))
}

// named returns the entry with a key, if the caller of ctx may learn of it.
func (s *Snapshot) named(ctx context.Context, c *engine.Call, kind Kind, key string) (*Entry, error) {
	e := s.byKey[kind][key]
	if e.visibleIn(ctx) {
		return e, nil
	}
	return nil, s.refusal(ctx, c, e, key, s.unknown(transport.PrincipalFrom(ctx), kind, key))
}

// refusal returns the error for a caller that must not see e. If e is nil, there is no such entry.
func (s *Snapshot) refusal(ctx context.Context, c *engine.Call, e *Entry, name string, absent error) error {
	if e == nil || s.cfg.Forbidden == nil {
		return absent
	}
	return s.cfg.Forbidden(ctx, c, e, name, absent)
}

// unknown returns the error for an unknown name: -32602 for tools and prompts in every revision (server/tools
// and server/prompts, "Error Handling"). It does not suggest names of methods.
func (s *Snapshot) unknown(who *transport.Principal, kind Kind, name string) *protocol.Fault {
	if kind == Method {
		return unknownMethod(name)
	}
	noun := [...]string{Tool: "tool", Prompt: "prompt", Template: "resource template"}[kind]
	var names []string
	for _, e := range s.lists[kind].listed {
		if e.VisibleTo(who) {
			names = append(names, e.Key)
		}
	}
	if near := Nearest(name, names); near != "" && !s.cfg.Discreet {
		return protocol.Faultf(protocol.FaultInvalidParams, "unknown %s %q. Did you mean %q?", noun, Clip(name), near)
	}
	return protocol.Faultf(protocol.FaultInvalidParams, "unknown %s %q", noun, Clip(name))
}

// Subscribe returns an error if the caller must not receive updates of a resource. A caller that cannot find
// the resource must not, because the updates would reveal it.
//
// A subscriber is notified of changes of all URIs with the same normal form. So the resource or template that
// serves the normal form also decides, and it gets the same spelling for all of them.
func (s *Snapshot) Subscribe(ctx context.Context, c *engine.Call, uri string) error {
	normal := protocol.NormalURI(uri)
	e, _, err := s.resource(ctx, c, uri)
	if err == nil && normal != uri {
		e, _, err = s.resource(ctx, c, normal)
	}
	if err != nil || e.Subscribe == nil {
		return err
	}
	return e.Subscribe(ctx, c, e.Spelling(normal))
}

func (s *Snapshot) resource(ctx context.Context, c *engine.Call, uri string) (*Entry, engine.Handler, error) {
	if e := s.fixed(uri); e != nil {
		return s.shown(ctx, c, e, e.Handler, uri)
	}
	for e, spelling := range s.templates.spellings(uri) {
		h, err := e.Match(spelling)
		if err != nil { // a less strict template must not serve an unsafe URI
			return nil, nil, notFound(uri)
		}
		if h != nil {
			return s.shown(ctx, c, e, h, uri)
		}
	}
	return nil, nil, notFound(uri)
}

// shown returns e and its handler if the caller of ctx may see e. Otherwise it returns an error,
// and a less specific template does not serve the URI instead.
func (s *Snapshot) shown(ctx context.Context, c *engine.Call, e *Entry, h engine.Handler, uri string) (*Entry, engine.Handler, error) {
	if !e.visibleIn(ctx) {
		return nil, nil, s.refusal(ctx, c, e, uri, notFound(uri))
	}
	return e, h, nil
}

// fixed returns the resource with the URI in any spelling, or nil.
func (s *Snapshot) fixed(uri string) *Entry {
	if e := s.byKey[Resource][uri]; e != nil {
		return e
	}
	return s.byNormal[protocol.NormalURI(uri)]
}

// secret reports whether the resource exists and some clients must not be notified of its changes.
func (s *Snapshot) secret(uri string) bool {
	uri = protocol.NormalURI(uri)
	if e := s.fixed(uri); e != nil {
		return !e.open()
	}
	for e, spelling := range s.templates.spellings(uri) {
		if h, err := e.Match(spelling); h != nil && err == nil {
			return !e.open()
		}
	}
	return false
}

func notFound(uri string) *protocol.Fault {
	return &protocol.Fault{Kind: protocol.FaultResourceNotFound, Message: "resource not found", URI: uri}
}

// Mirrors returns the arguments of a tool that HTTP requests repeat in headers. It returns nil for an unknown
// tool and for a tool without such arguments. Callers must not change the slice. The arguments are the same
// for all clients, also for clients that may not see the tool.
func (s *Snapshot) Mirrors(tool string) []dialect.Mirror {
	if e := s.byKey[Tool][tool]; e != nil {
		return e.Mirrors
	}
	return nil
}

// Complete completes an argument of a prompt or a variable of a template.
func (s *Snapshot) Complete(ctx context.Context, c *engine.Call, p *protocol.CompleteParams) (*protocol.Completion, error) {
	if p.Prompt == "" && p.Template == "" {
		return nil, protocol.Faultf(protocol.FaultInvalidParams, "ref names neither a prompt nor a resource template")
	}
	kind, key := Prompt, p.Prompt
	if p.Template != "" {
		kind, key = Template, p.Template
	}
	e, err := s.named(ctx, c, kind, key)
	if err != nil {
		return nil, err
	}
	return e.Complete(ctx, c, p)
}
