package conform

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// unknownName is a name that no server is expected to have.
const unknownName = "kagami-conformance-none"

// rules are all rules, in the order of the report.
var rules = []rule{
	{name: "an unknown method is refused with -32601", source: "JSON-RPC 2.0 §5.1", check: func(ctx context.Context, p *probe) error {
		return p.refuses(ctx, "kagami/"+unknownName, `{}`, jsonrpc.CodeMethodNotFound)
	}},
	{name: "ping is answered with an empty result", source: "basic/utilities/ping", until: true, check: ping},
	{name: "a list without its capability is refused with -32601", source: "basic, error codes", should: true, check: undeclared},
	{name: "lists that are declared can be read", source: "server/tools, server/resources, server/prompts", check: readable},
	{name: "an unknown cursor is refused with -32602", source: "server/utilities/pagination", should: true, check: cursors},
	{name: "results have a resultType", source: "basic", since: true, check: resultTypes},
	{name: "lists have a cache time and a cache scope", source: "server/utilities/caching", since: true, check: cacheable},

	{name: "names of tools are unique, with 1 to 128 of the characters A-Z a-z 0-9 _ - .", source: "server/tools#tool-names", should: true, check: toolNames},
	{name: "the input schema of a tool is of type object", source: "server/tools#tool", check: inputSchemas},
	{name: "an unknown tool is refused with -32602", source: "server/tools#error-handling", should: true, check: refused("tools", protocol.MethodCallTool, `{"name":"`+unknownName+`","arguments":{}}`)},
	{name: "a call without a name is refused with -32602", source: "JSON-RPC 2.0 §5.1", should: true, check: refused("tools", protocol.MethodCallTool, `{"arguments":{}}`)},

	{name: "URIs of resources are absolute and unique", source: "server/resources#resource", check: resourceURIs},
	{name: "an unknown resource is refused", source: "server/resources#error-handling", check: unknownResource},

	{name: "names of prompts and of their arguments are unique", source: "server/prompts#prompt", check: promptNames},
	{name: "an unknown prompt is refused with -32602", source: "server/prompts#error-handling", should: true, check: refused("prompts", protocol.MethodGetPrompt, `{"name":"`+unknownName+`"}`)},
	{name: "a prompt without its required arguments is refused with -32602", source: "server/prompts#error-handling", should: true, check: promptArguments},

	{name: "a completion for an unknown prompt is refused with -32602", source: "server/utilities/completion#error-handling", should: true, check: refused("completions", protocol.MethodComplete,
		`{"ref":{"type":"ref/prompt","name":"`+unknownName+`"},"argument":{"name":"a","value":""}}`)},
	{name: "an unknown log level is refused with -32602", source: "server/utilities/logging#error-handling", should: true, until: true, check: refused("logging", protocol.MethodSetLevel, `{"level":"deafening"}`)},
}

// refused returns the check that a server with a capability refuses a request with -32602.
func refused(capability, method, params string) func(ctx context.Context, p *probe) error {
	return func(ctx context.Context, p *probe) error {
		if !p.offers(capability) {
			return errSkipped
		}
		return p.refuses(ctx, method, params, jsonrpc.CodeInvalidParams)
	}
}

func unknownResource(ctx context.Context, p *probe) error {
	if !p.has.Resources {
		return errSkipped
	}
	codes := []int{p.d.Error(&protocol.Fault{Kind: protocol.FaultResourceNotFound}).Code}
	if p.d.ServerRequests() { // these revisions have the code only as a SHOULD
		codes = append(codes, jsonrpc.CodeInvalidParams)
	}
	return p.refuses(ctx, protocol.MethodReadResource, `{"uri":"`+unknownName+`://none"}`, codes...)
}

func ping(ctx context.Context, p *probe) error {
	result, err := p.result(ctx, protocol.MethodPing, `{}`)
	if err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(result, &members) != nil {
		return fmt.Errorf("want an object as the result, got %s", clip(result))
	}
	return nil
}

func undeclared(ctx context.Context, p *probe) error {
	return p.eachList(false, func(l list) error { return p.refuses(ctx, l.method, `{}`, jsonrpc.CodeMethodNotFound) })
}

func readable(ctx context.Context, p *probe) error {
	return p.eachList(true, func(l list) error {
		_, err := p.entries(ctx, l)
		return err
	})
}

func cursors(ctx context.Context, p *probe) error {
	return p.eachList(true, func(l list) error {
		return p.refuses(ctx, l.method, `{"cursor":"`+unknownName+`"}`, jsonrpc.CodeInvalidParams)
	})
}

// eachList calls check with each list that the server offers. If offered is false, it calls check with
// the lists that the server does not offer. If there is no such list, it returns errSkipped.
func (p *probe) eachList(offered bool, check func(l list) error) error {
	skipped := errSkipped
	for _, l := range lists {
		if p.offers(l.member) != offered {
			continue
		}
		skipped = nil
		if err := check(l); err != nil {
			return err
		}
	}
	return skipped
}

// eachResult calls judge with the result of each list that the server offers.
func (p *probe) eachResult(ctx context.Context, judge func(method string, result []byte) error) error {
	return p.eachList(true, func(l list) error {
		result, err := p.result(ctx, l.method, `{}`)
		if err != nil {
			return err
		}
		return judge(l.method, result)
	})
}

func resultTypes(ctx context.Context, p *probe) error {
	return p.eachResult(ctx, func(method string, result []byte) error {
		if kind := text(result, "resultType"); kind != "complete" {
			return fmt.Errorf("the resultType of %s is %q, want \"complete\"", method, kind)
		}
		return nil
	})
}

func cacheable(ctx context.Context, p *probe) error {
	return p.eachResult(ctx, func(method string, result []byte) error {
		ttl, _ := jsontext.Member(result, "ttlMs")
		if n, whole := jsontext.Int64(ttl); !whole || n < 0 {
			return fmt.Errorf("the ttlMs of %s is %s, want an integer of at least 0", method, clip(ttl))
		}
		if scope := text(result, "cacheScope"); scope != "public" && scope != "private" {
			return fmt.Errorf("the cacheScope of %s is %q, want \"public\" or \"private\"", method, scope)
		}
		return nil
	})
}

// text returns a string member, or "".
func text(object []byte, name string) string {
	raw, _ := jsontext.Member(object, name)
	s, _ := jsontext.String(raw)
	return s
}

// unique checks that each entry has a key, and that no key is there twice. It calls judge with each
// key.
func unique(entries [][]byte, key string, judge func(value string) error) error {
	seen := map[string]bool{}
	for _, entry := range entries {
		value := text(entry, key)
		if value == "" {
			return fmt.Errorf("an entry has no %s: %s", key, clip(entry))
		}
		if seen[value] {
			return fmt.Errorf("%q is listed twice", value)
		}
		seen[value] = true
		if judge != nil {
			if err := judge(value); err != nil {
				return err
			}
		}
	}
	return nil
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

func toolNames(ctx context.Context, p *probe) error {
	tools, err := p.entries(ctx, listTools)
	if err != nil {
		return err
	}
	return unique(tools, "name", func(name string) error {
		if !toolName.MatchString(name) {
			return fmt.Errorf("%q has another character, or more than 128", name)
		}
		return nil
	})
}

func inputSchemas(ctx context.Context, p *probe) error {
	tools, err := p.entries(ctx, listTools)
	if err != nil {
		return err
	}
	for _, tool := range tools {
		schema, _ := jsontext.Member(tool, "inputSchema")
		if text(schema, "type") != "object" {
			return fmt.Errorf("the input schema of %q is not of type object: %s", text(tool, "name"), clip(schema))
		}
	}
	return nil
}

func resourceURIs(ctx context.Context, p *probe) error {
	resources, err := p.entries(ctx, listResources)
	if err != nil {
		return err
	}
	return unique(resources, "uri", func(uri string) error {
		if u, err := url.Parse(uri); err != nil || !u.IsAbs() {
			return fmt.Errorf("%q is not an absolute URI", uri)
		}
		return nil
	})
}

func promptNames(ctx context.Context, p *probe) error {
	prompts, err := p.entries(ctx, listPrompts)
	if err != nil {
		return err
	}
	for _, prompt := range prompts {
		arguments, _ := jsontext.Member(prompt, "arguments")
		if err := unique(slices.Collect(jsontext.Elements(arguments)), "name", nil); err != nil {
			return fmt.Errorf("arguments of %q: %w", text(prompt, "name"), err)
		}
	}
	return unique(prompts, "name", nil)
}

func promptArguments(ctx context.Context, p *probe) error {
	prompts, err := p.entries(ctx, listPrompts)
	if err != nil {
		return err
	}
	for _, prompt := range prompts {
		arguments, _ := jsontext.Member(prompt, "arguments")
		for argument := range jsontext.Elements(arguments) {
			if required, _ := jsontext.Member(argument, "required"); string(required) == "true" {
				name, _ := json.Marshal(text(prompt, "name")) // encoding a string does not fail
				return p.refuses(ctx, protocol.MethodGetPrompt, `{"name":`+string(name)+`}`, jsonrpc.CodeInvalidParams)
			}
		}
	}
	return errSkipped
}
