package testkit

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// capabilityOf a list.
func capabilityOf(kind protocol.ListKind) string {
	switch kind {
	case protocol.ListTools:
		return "tools"
	case protocol.ListPrompts:
		return "prompts"
	default:
		return "resources"
	}
}

// each runs fn for the lists that the server has.
func (w *probe) each(fn func(protocol.ListKind) error) error {
	none := true
	for _, kind := range listKinds() {
		if !w.declared(capabilityOf(kind)) {
			continue
		}
		none = false
		if err := fn(kind); err != nil {
			return err
		}
	}
	if none {
		return errNoSubject
	}
	return nil
}

// items returns all entries of a list.
func (w *probe) items(kind protocol.ListKind) ([]json.RawMessage, error) {
	if !w.declared(capabilityOf(kind)) {
		return nil, errNoSubject
	}
	var all []json.RawMessage
	params := "{}"
	for {
		r, err := w.served(kind.Method(), params)
		if err != nil {
			return nil, err
		}
		list, ok := jsontext.Member(r.Result, member(kind))
		if !ok || jsontext.KindOf(list) != jsontext.KindArray {
			return nil, fmt.Errorf("want a list %s", member(kind))
		}
		for item := range jsontext.Elements(list) {
			all = append(all, item)
		}
		cursor, more := jsontext.Member(r.Result, "nextCursor")
		if !more {
			return all, nil
		}
		params = `{"cursor":` + string(cursor) + `}`
	}
}

// stringsOf returns these members of an entry, which must be non-empty strings.
func stringsOf(item json.RawMessage, names ...string) ([]string, error) {
	var all []string
	for _, name := range names {
		raw, _ := jsontext.Member(item, name)
		text, ok := jsontext.String(raw)
		if !ok || text == "" {
			return nil, fmt.Errorf("an entry has no %s: %s", name, item)
		}
		all = append(all, text)
	}
	return all, nil
}

// unique checks that all entries of a list have these members, and that no two have the same
// value of the first one.
func (w *probe) unique(kind protocol.ListKind, judge func(text string) error, names ...string) error {
	items, err := w.items(kind)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, item := range items {
		texts, err := stringsOf(item, names...)
		if err != nil {
			return err
		}
		if seen[texts[0]] {
			return fmt.Errorf("%s is listed twice", texts[0])
		}
		seen[texts[0]] = true
		if err := judge(texts[0]); err != nil {
			return err
		}
	}
	return nil
}

func anyText(string) error { return nil }

var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

func listRules() []rule {
	return []rule{
		{
			number: "list-1", source: "server/utilities/pagination", text: "An invalid cursor is refused with -32602.",
			check: func(w *probe) error {
				return w.each(func(kind protocol.ListKind) error {
					return w.refused(kind.Method(), `{"cursor":"testkit made this up"}`, jsonrpc.CodeInvalidParams)
				})
			},
		},
		{
			number: "list-2", source: "server/tools", text: "Lists are the same in the same order when nothing has changed.",
			check: steady,
		},
		{
			number: "list-3", source: "server/utilities/caching", text: "Lists say how long they hold (ttlMs, 0 or more) and for whom (cacheScope).",
			at:    perRequest,
			check: dated,
		},
		{
			number: "list-4", source: "schema, MethodNotFoundError", text: "Methods of a capability that was not declared are unknown: -32601.",
			at:    perRequest,
			check: undeclared,
		},
		{
			number: "list-5", source: "server/discover", text: "What server/discover says holds for a time, too: ttlMs and cacheScope.",
			at: perRequest,
			check: func(w *probe) error {
				r, err := w.served("server/discover", "{}")
				if err != nil {
					return err
				}
				return cacheable(r.Result)
			},
		},
		{
			number: "resource-1", source: "server/resources", text: "Resources have a name and an absolute URI that no other has.",
			check: func(w *probe) error {
				return w.unique(protocol.ListResources, func(uri string) error {
					u, err := url.Parse(uri)
					if err == nil && u.Scheme == "" {
						err = fmt.Errorf("%s has no scheme", uri)
					}
					return err
				}, "uri", "name")
			},
		},
		{
			number: "resource-2", source: "server/resources", text: "Resource templates have a name and a URI template that no other has.",
			check: func(w *probe) error { return w.unique(protocol.ListTemplates, anyText, "uriTemplate", "name") },
		},
		{
			number: "prompt-1", source: "server/prompts", text: "Prompts have a name that no other has.",
			check: func(w *probe) error { return w.unique(protocol.ListPrompts, anyText, "name") },
		},
	}
}

func cacheable(result json.RawMessage) error {
	ttl, _ := jsontext.Member(result, "ttlMs")
	scope, _ := jsontext.Member(result, "cacheScope")
	n, ok := jsontext.Int64(ttl)
	if text := string(scope); !ok || n < 0 || text != `"public"` && text != `"private"` {
		return errors.New("want ttlMs and cacheScope")
	}
	return nil
}

func toolRules() []rule {
	return []rule{
		{
			number: "tool-1", source: "server/tools", text: "Tools have a name of 1 to 128 letters, digits, _, - and dots that no other has.",
			check: func(w *probe) error {
				return w.unique(protocol.ListTools, func(name string) error {
					if !toolName.MatchString(name) {
						return fmt.Errorf("the name %q", name)
					}
					return nil
				}, "name")
			},
		},
		{
			number: "tool-2", source: "server/tools", text: `An input schema is a valid JSON Schema with "type":"object" at its root.`,
			check: inputSchemas,
		},
		{
			number: "tool-3", source: "server/tools, \"Output Schema\"", text: `An output schema has "type":"object" at its root.`,
			at:    func(d *dialect.Dialect) bool { return d.Handshake() && d.StructuredContent() },
			check: outputSchemas,
		},
		{
			number: "tool-4", source: "server/tools, \"x-mcp-header\"", text: "Arguments in headers have valid, unique header names, and are texts, integers or booleans.",
			at:    (*dialect.Dialect).MirrorHeaders,
			check: headers,
		},
		{
			number: "tool-5", source: "server/tools, \"Error Handling\"", text: "An unknown tool is refused with -32602.",
			check: func(w *probe) error {
				if !w.declared("tools") {
					return errNoSubject
				}
				return w.refused("tools/call", `{"name":"testkit-none"}`, jsonrpc.CodeInvalidParams)
			},
		},
		{
			number: "tool-6", source: "schema, CallToolRequest", text: "A call without name, or whose arguments are no object, is refused with -32602.",
			check: misshapen,
		},
		{
			number: "tool-7", source: "server/tools, \"Error Handling\"",
			text:  "Arguments that do not fit are an isError result with content for the model; before 2025-11-25, error -32602.",
			check: unfit,
		},
	}
}

func (w *probe) tools(judge func(json.RawMessage) error) error {
	items, err := w.items(protocol.ListTools)
	for _, tool := range items {
		if err == nil {
			err = judge(tool)
		}
	}
	return err
}

// unfit calls the tools that need arguments with none: the handlers do not run.
func unfit(w *probe) error {
	subject := false
	err := w.tools(func(tool json.RawMessage) error {
		schema, _ := jsontext.Member(tool, "inputSchema")
		name, _ := jsontext.Member(tool, "name")
		if required, _ := jsontext.Member(schema, "required"); jsontext.Len(required) == 0 {
			return nil
		}
		subject = true
		r, err := w.ask("tools/call", `{"name":`+string(name)+`,"arguments":{}}`)
		if err != nil {
			return err
		}
		if !w.dialect.ArgumentErrorsAreResults() {
			return oneOf(r, jsonrpc.CodeInvalidParams)
		}
		failed, _ := jsontext.Member(r.Result, "isError")
		content, _ := jsontext.Member(r.Result, "content")
		if string(failed) != "true" || jsontext.KindOf(content) != jsontext.KindArray {
			return errors.New("want isError and content")
		}
		return nil
	})
	if err == nil && !subject {
		return errNoSubject
	}
	return err
}

// steady lists twice.
func steady(w *probe) error {
	return w.each(func(kind protocol.ListKind) error {
		first, err := w.items(kind)
		if err != nil {
			return err
		}
		second, err := w.items(kind)
		if err == nil && fmt.Sprint(first) != fmt.Sprint(second) {
			err = errors.New("the second list is another")
		}
		return err
	})
}

// undeclared asks for lists that are not there.
func undeclared(w *probe) error {
	subject := false
	for _, kind := range listKinds() {
		if w.declared(capabilityOf(kind)) {
			continue
		}
		subject = true
		if err := w.refused(kind.Method(), "{}", jsonrpc.CodeMethodNotFound); err != nil {
			return err
		}
	}
	if !subject {
		return errNoSubject
	}
	return nil
}

// dated looks at the first pages.
func dated(w *probe) error {
	return w.each(func(kind protocol.ListKind) error {
		r, err := w.served(kind.Method(), "{}")
		if err != nil {
			return err
		}
		return cacheable(r.Result)
	})
}

// inputSchemas are objects.
func inputSchemas(w *probe) error {
	return w.tools(func(tool json.RawMessage) error {
		schema, _ := jsontext.Member(tool, "inputSchema")
		if root, _ := jsontext.Member(schema, "type"); string(root) != `"object"` || byItsSchema(schema).InputSchema() == nil {
			return fmt.Errorf("the schema %s", schema)
		}
		return nil
	})
}

// outputSchemas are objects.
func outputSchemas(w *probe) error {
	return w.tools(func(tool json.RawMessage) error {
		schema, has := jsontext.Member(tool, "outputSchema")
		if root, _ := jsontext.Member(schema, "type"); has && string(root) != `"object"` {
			return fmt.Errorf("the schema %s", schema)
		}
		return nil
	})
}

// headers of arguments.
func headers(w *probe) error {
	return w.tools(func(tool json.RawMessage) error {
		schema, _ := jsontext.Member(tool, "inputSchema")
		_, err := dialect.Mirrors(schema)
		return err
	})
}

// misshapen calls are no calls.
func misshapen(w *probe) error {
	if !w.declared("tools") {
		return errNoSubject
	}
	return errors.Join(w.refused("tools/call", `{"arguments":{}}`, jsonrpc.CodeInvalidParams),
		w.refused("tools/call", `{"name":"testkit-none","arguments":[]}`, jsonrpc.CodeInvalidParams))
}
