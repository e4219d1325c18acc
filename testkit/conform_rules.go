package testkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"

	"github.com/kagami-mcp/kagami/framework"
	"github.com/kagami-mcp/kagami/framework/testhook"
	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

func perRequest(d *dialect.Dialect) bool { return !d.Handshake() }

// refusing returns a check that a request is refused with the code. If capability is not "" and
// the server does not declare it, the check returns errNoSubject.
func refusing(capability, method, params string, code int) func(*probe) error {
	return func(w *probe) error {
		if capability != "" && !w.declared(capability) {
			return errNoSubject
		}
		return w.refused(method, params, code)
	}
}

// baseRules returns the rules about the form of requests and answers.
func baseRules() []rule {
	return []rule{
		{number: "base-1", source: "basic", check: sameIDs, text: "A response carries the id of its request, in its JSON type."},
		{number: "base-2", source: "basic", check: wellFormed, text: "A response is JSON-RPC 2.0, with a result or an error of code and message, never both."},
		{number: "base-4", source: "basic", check: unanswered, text: "Notifications are never answered, malformed ones included."},
		{number: "base-5", source: "basic", check: refusing("", "testkit/none", "{}", jsonrpc.CodeMethodNotFound), text: "An unknown method is refused with -32601."},
		{number: "base-6", source: "JSON-RPC 2.0, 5.1", check: malformed, text: "A frame that is not JSON is refused with -32700, JSON that is not a message with -32600."},
		{number: "base-9", source: `basic, "Result"`, at: (*dialect.Dialect).ResultType, check: alive(typed), text: `Every result has a resultType; it is "complete" if nothing is to follow.`},
		{number: "base-10", source: `basic, "_meta"`, at: perRequest, check: alive(introduced), text: "The _meta of a result contains the name and the version of the server."},
	}
}

// versionRules returns the rules about initialize and discovery.
func versionRules() []rule {
	return []rule{
		{number: "version-1", source: "basic/lifecycle", at: (*dialect.Dialect).Handshake, fresh: true, check: initialized, text: "A supported version that initialize asks for is agreed to, with capabilities and serverInfo."},
		{number: "version-6", source: "server/discover", at: perRequest, check: discovered, text: "server/discover lists the revision among its versions, and the capabilities."},
	}
}

// listRules returns the rules about lists as a whole.
func listRules() []rule {
	return []rule{
		{number: "list-1", source: "server/utilities/pagination", check: lists(true, madeUpCursor), text: "An invalid cursor is refused with -32602."},
		{number: "list-2", source: "server/tools", check: lists(true, steady), text: "Lists are the same in the same order if nothing has changed."},
		{number: "list-3", source: "server/utilities/caching", at: perRequest, check: lists(true, dated), text: "Lists contain how long they hold (ttlMs, 0 or more) and for whom (cacheScope)."},
		{number: "list-4", source: "schema, MethodNotFoundError", at: perRequest, check: lists(false, undeclared), text: "Methods of a capability that was not declared are unknown: -32601."},
		{number: "list-5", source: "server/discover", at: perRequest, check: alive(cacheable), text: "The answer to server/discover contains ttlMs and cacheScope, too."},
	}
}

// entryRules returns the rules about each entry of a list.
func entryRules() []rule {
	outputs := func(d *dialect.Dialect) bool { return d.Handshake() && d.StructuredContent() }
	mirrors := (*dialect.Dialect).MirrorHeaders
	return []rule{
		{number: "resource-1", source: "server/resources", check: unique(protocol.ListResources, "uri", absolute), text: "Resources have a name and an absolute URI, which is unique."},
		{number: "resource-2", source: "server/resources", check: unique(protocol.ListTemplates, "uriTemplate", anyText), text: "Resource templates have a name and a URI template, which is unique."},
		{number: "prompt-1", source: "server/prompts", check: unique(protocol.ListPrompts, "name", anyText), text: "Prompts have a unique name."},
		{number: "tool-1", source: "server/tools", check: unique(protocol.ListTools, "name", legalName), text: "Tools have a unique name of 1 to 128 letters, digits, _, - and dots."},
		{number: "tool-2", source: "server/tools", check: entries(protocol.ListTools, inputSchema), text: `An input schema is a valid JSON Schema with "type":"object" at its root.`},
		{number: "tool-3", source: `server/tools, "Output Schema"`, at: outputs, check: entries(protocol.ListTools, outputSchema), text: `An output schema has "type":"object" at its root.`},
		{number: "tool-4", source: `server/tools, "x-mcp-header"`, at: mirrors, check: entries(protocol.ListTools, headers), text: "Arguments in headers have valid, unique header names, and are texts, integers or booleans."},
	}
}

// refusalRules returns the rules about calls that must be refused before any handler runs.
func refusalRules() []rule {
	const codeNotFound = -32002 // at revisions with a handshake
	const uri, name, invalid = `{"uri":"testkit-none://nowhere"}`, `{"name":"testkit-none"}`, jsonrpc.CodeInvalidParams
	const reference = `{"ref":{"type":"ref/prompt","name":"testkit-none"},"argument":{"name":"a","value":""}}`
	handshake := (*dialect.Dialect).Handshake
	return []rule{
		{number: "tool-5", source: `server/tools, "Error Handling"`, check: refusing("tools", "tools/call", name, invalid), text: "An unknown tool is refused with -32602."},
		{number: "tool-6", source: "schema, CallToolRequest", check: misshapen, text: "A call is refused with -32602 if it has no name, or if its arguments are not an object."},
		{number: "tool-7", source: `server/tools, "Error Handling"`, check: entries(protocol.ListTools, unfit), text: "Arguments that do not fit are an isError result with content for the model; before 2025-11-25, error -32602."},
		{number: "resource-3", source: `server/resources, "Error Handling"`, at: handshake, check: refusing("resources", "resources/read", uri, codeNotFound), text: "An unknown resource is refused with -32002."},
		{number: "resource-4", source: `server/resources, "Error Handling"`, at: perRequest, check: refusing("resources", "resources/read", uri, invalid), text: "An unknown resource is refused with -32602, and never with empty contents."},
		{number: "prompt-2", source: `server/prompts, "Error Handling"`, check: refusing("prompts", "prompts/get", name, invalid), text: "An unknown prompt is refused with -32602."},
		{number: "prompt-3", source: `server/prompts, "Error Handling"`, check: entries(protocol.ListPrompts, withoutArguments), text: "A prompt without its required arguments is refused with -32602."},
		{number: "completion-1", source: "server/utilities/completion", check: refusing("completions", "completion/complete", reference, invalid), text: "An unknown reference is refused with -32602."},
	}
}

// callRules returns the rules about results, which the app's middleware may change.
func callRules() []rule {
	content := func(w *probe) error { _, err := w.calls(toolSteps, false); return err }
	failure := func(w *probe) error { _, err := w.calls(toolFail, true); return err }
	structured := (*dialect.Dialect).StructuredContent
	return []rule{
		{number: "call-1", source: "schema, CallToolResult", fresh: true, check: withTools(content), text: "The result of a tool has content, in blocks of known types. If it succeeds, it has no isError."},
		{number: "call-2", source: `server/tools, "Structured Content"`, at: structured, fresh: true, check: withTools(structuredTwice), text: "A tool with an output schema answers with structured content that conforms to it, and with the same as text."},
		{number: "call-3", source: `server/tools, "Error Handling"`, fresh: true, check: withTools(failure), text: "An error of a tool is a result with isError and content, not an error of the protocol."},
	}
}

// alive returns a method that every server of the revision answers with a result.
func (w *probe) alive() (method string) {
	if w.dialect.Handshake() {
		return "ping"
	}
	return "server/discover"
}

// identified checks that an implementation has a name and a version.
func identified(server []byte) error {
	var info struct{ Name, Version *string }
	if json.Unmarshal(server, &info) != nil || info.Name == nil || info.Version == nil {
		return errors.New("want serverInfo with name and version")
	}
	return nil
}

func malformed(w *probe) error {
	err := w.refusedFrame(`{"jsonrpc":`, jsonrpc.CodeParse)
	for _, frame := range []string{`{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"1.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":7}`, "7"} {
		if err == nil {
			err = w.refusedFrame(frame, jsonrpc.CodeInvalidRequest)
		}
	}
	return err
}

func initialized(w *probe) error {
	r, err := w.initialize(w.dialect.String())
	if err != nil {
		return err
	}
	var found struct {
		ProtocolVersion          string
		Capabilities, ServerInfo json.RawMessage
	}
	err = json.Unmarshal(r.Result, &found)
	switch {
	case err != nil:
		return err
	case found.ProtocolVersion != w.dialect.String():
		return errors.New("want another protocolVersion")
	case !isObject(found.Capabilities):
		return errors.New("want capabilities")
	}
	return identified(found.ServerInfo)
}

func sameIDs(w *probe) error {
	for _, id := range []string{`"a"`, `7`, `"7"`, `""`} {
		r, err := w.exchange(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, w.alive(), w.withMeta("{}")))
		if err != nil || string(r.ID) != id {
			return errors.Join(err, fmt.Errorf("want id %s", id))
		}
	}
	return nil
}

func wellFormed(w *probe) error {
	for _, method := range []string{w.alive(), "testkit/none"} {
		r, err := w.ask(method, "{}")
		if err != nil {
			return err
		}
		if r.JSONRPC != "2.0" || (r.Result == nil) == (r.Error == nil) || r.Error != nil && r.Error.Message == nil {
			return errors.New("want one of result and error")
		}
	}
	return nil
}

// unanswered sends notifications. The next frame must answer the request after them.
func unanswered(w *probe) error {
	for _, n := range []string{`"notifications/testkit"`, `"notifications/cancelled","params":{"requestId":{}}`, `"notifications/cancelled","params":{"requestId":99}`} {
		if err := w.send(`{"jsonrpc":"2.0","method":` + n + `}`); err != nil {
			return err
		}
	}
	r, err := w.served(w.alive(), "{}")
	if err == nil && string(r.ID) != fmt.Sprint(w.id) {
		err = errors.New("a notification was answered")
	}
	return err
}

// alive returns a check of the result of a method that every server of the revision has.
func alive(check func(result json.RawMessage) error) func(*probe) error {
	return func(w *probe) error { return w.gives(w.alive(), check) }
}

// gives sends a request and checks its result.
func (w *probe) gives(method string, check func(result json.RawMessage) error) error {
	r, err := w.served(method, "{}")
	if err != nil {
		return err
	}
	return check(r.Result)
}

func typed(result json.RawMessage) error {
	if kind, _ := jsontext.Member(result, "resultType"); string(kind) != `"complete"` {
		return errors.New(`want resultType "complete"`)
	}
	return nil
}

func introduced(result json.RawMessage) error {
	meta, _ := jsontext.Member(result, "_meta")
	server, _ := jsontext.Member(meta, "io.modelcontextprotocol/serverInfo")
	return identified(server)
}

func discovered(w *probe) error {
	return w.gives("server/discover", func(result json.RawMessage) error {
		var found struct {
			SupportedVersions []string
			Capabilities      json.RawMessage
		}
		err := json.Unmarshal(result, &found)
		if err == nil && (!slices.Contains(found.SupportedVersions, w.dialect.String()) || !isObject(found.Capabilities)) {
			err = errors.New("want supportedVersions with this revision, and capabilities")
		}
		return err
	})
}

// every checks all items. If none of them is a subject of the rule, it returns errNoSubject.
func every[T any](all []T, check func(T) error) error {
	err := errNoSubject
	for _, one := range all {
		switch got := check(one); {
		case got == nil:
			err = nil
		case !errors.Is(got, errNoSubject):
			return got
		}
	}
	return err
}

// lists returns a check of the lists of declared capabilities, or of all others.
func lists(declared bool, check func(*probe, protocol.ListKind) error) func(*probe) error {
	all := []protocol.ListKind{protocol.ListTools, protocol.ListPrompts, protocol.ListResources, protocol.ListTemplates}
	return func(w *probe) error {
		return every(all, func(kind protocol.ListKind) error {
			if w.declared(capabilityOf(kind)) != declared {
				return errNoSubject
			}
			return check(w, kind)
		})
	}
}

func capabilityOf(kind protocol.ListKind) string {
	if kind == protocol.ListTemplates {
		return "resources"
	}
	return member(kind)
}

// entries returns a check of all entries of a list.
func entries(kind protocol.ListKind, check func(*probe, json.RawMessage) error) func(*probe) error {
	return func(w *probe) error {
		items, err := w.items(kind)
		if err != nil {
			return err
		}
		return every(items, func(item json.RawMessage) error { return check(w, item) })
	}
}

// items returns all entries of a list.
func (w *probe) items(kind protocol.ListKind) (all []json.RawMessage, err error) {
	if !w.declared(capabilityOf(kind)) {
		return nil, errNoSubject
	}
	for params := "{}"; ; {
		r, err := w.served(kind.Method(), params)
		if err != nil {
			return nil, err
		}
		list, _ := jsontext.Member(r.Result, member(kind))
		if jsontext.KindOf(list) != jsontext.KindArray {
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

// unique returns a check of all entries of a list. They must have a name and the member, and the
// member must be legal and differ from entry to entry.
func unique(kind protocol.ListKind, key string, legal func(text string) error) func(*probe) error {
	return func(w *probe) error {
		seen := map[string]bool{}
		return entries(kind, func(_ *probe, item json.RawMessage) error {
			text := ""
			for _, name := range []string{"name", key} {
				raw, _ := jsontext.Member(item, name)
				if text, _ = jsontext.String(raw); text == "" {
					return fmt.Errorf("an entry has no %s: %s", name, item)
				}
			}
			if seen[text] {
				return fmt.Errorf("%s is listed twice", text)
			}
			seen[text] = true
			return legal(text)
		})(w)
	}
}

func anyText(string) error { return nil }

func absolute(uri string) error {
	if u, err := url.Parse(uri); err != nil || u.Scheme == "" {
		return fmt.Errorf("%s has no scheme", uri)
	}
	return nil
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

func legalName(name string) error {
	if !toolName.MatchString(name) {
		return fmt.Errorf("the name %q", name)
	}
	return nil
}

func madeUpCursor(w *probe, kind protocol.ListKind) error {
	return w.refused(kind.Method(), `{"cursor":"testkit made this up"}`, jsonrpc.CodeInvalidParams)
}

func steady(w *probe, kind protocol.ListKind) error {
	first, err := w.items(kind)
	if err != nil {
		return err
	}
	second, err := w.items(kind)
	if err == nil && fmt.Sprint(first) != fmt.Sprint(second) {
		err = errors.New("the second list is another")
	}
	return err
}

func undeclared(w *probe, kind protocol.ListKind) error {
	return w.refused(kind.Method(), "{}", jsonrpc.CodeMethodNotFound)
}

// dated checks the first page.
func dated(w *probe, kind protocol.ListKind) error { return w.gives(kind.Method(), cacheable) }

func cacheable(result json.RawMessage) error {
	ttl, _ := jsontext.Member(result, "ttlMs")
	scope, _ := jsontext.Member(result, "cacheScope")
	n, ok := jsontext.Int64(ttl)
	if text := string(scope); !ok || n < 0 || text != `"public"` && text != `"private"` {
		return errors.New("want ttlMs and cacheScope")
	}
	return nil
}

// inputSchema checks the schema of a tool's arguments.
func inputSchema(_ *probe, tool json.RawMessage) error {
	schema, _ := jsontext.Member(tool, "inputSchema")
	if !rooted(schema) || byItsSchema(schema).InputSchema() == nil {
		return fmt.Errorf("the schema %s", schema)
	}
	return nil
}

func outputSchema(_ *probe, tool json.RawMessage) error {
	schema, has := jsontext.Member(tool, "outputSchema")
	if has && !rooted(schema) {
		return fmt.Errorf("the schema %s", schema)
	}
	return nil
}

// rooted reports whether the root of a schema is an object.
func rooted(schema json.RawMessage) bool {
	root, _ := jsontext.Member(schema, "type")
	return string(root) == `"object"`
}

func headers(_ *probe, tool json.RawMessage) error {
	schema, _ := jsontext.Member(tool, "inputSchema")
	_, err := dialect.Mirrors(schema)
	return err
}

func misshapen(w *probe) error {
	unnamed := refusing("tools", "tools/call", `{"arguments":{}}`, jsonrpc.CodeInvalidParams)
	array := refusing("tools", "tools/call", `{"name":"testkit-none","arguments":[]}`, jsonrpc.CodeInvalidParams)
	return errors.Join(unnamed(w), array(w))
}

// unfit calls a tool that needs arguments without any.
func unfit(w *probe, tool json.RawMessage) error {
	schema, _ := jsontext.Member(tool, "inputSchema")
	name, _ := jsontext.Member(tool, "name")
	if required, _ := jsontext.Member(schema, "required"); jsontext.Len(required) == 0 {
		return errNoSubject
	}
	r, err := w.ask("tools/call", `{"name":`+string(name)+`,"arguments":{}}`)
	if err != nil {
		return err
	}
	if w.requiresTask(tool, r) {
		return errNoSubject
	}
	if !w.dialect.ArgumentErrorsAreResults() {
		return oneOf(r, jsonrpc.CodeInvalidParams)
	}
	_, err = toolResultOf(r, true)
	return err
}

// requiresTask reports whether every call of the tool must become a task. Servers refuse any other call
// before they look at the arguments.
func (w *probe) requiresTask(tool json.RawMessage, r *response) bool {
	if w.dialect.CoreTasks() {
		execution, _ := jsontext.Member(tool, "execution")
		support, _ := jsontext.Member(execution, "taskSupport")
		return string(support) == `"required"`
	}
	if r.Error == nil || r.Error.Code != codeMissingCapability {
		return false
	}
	required, _ := jsontext.Member(r.Error.Data, "requiredCapabilities")
	extensions, _ := jsontext.Member(required, "extensions")
	_, tasks := jsontext.Member(extensions, "io.modelcontextprotocol/tasks")
	return tasks
}

// withoutArguments asks for a prompt that needs arguments without any.
func withoutArguments(w *probe, item json.RawMessage) error {
	type argument struct{ Required bool }
	var prompt struct {
		Name      string
		Arguments []argument
	}
	if err := json.Unmarshal(item, &prompt); err != nil {
		return err
	}
	if !slices.ContainsFunc(prompt.Arguments, func(a argument) bool { return a.Required }) {
		return errNoSubject
	}
	return w.refused("prompts/get", fmt.Sprintf(`{"name":%q}`, prompt.Name), jsonrpc.CodeInvalidParams)
}

// Names of the tools that are added to the app for rules about results.
const toolSteps, toolFail = "testkit-steps", "testkit-fail"

// codeMissingCapability is the code for a call that needs a capability that the client lacks.
const codeMissingCapability = -32021

type stepsOut struct {
	Steps int `json:"steps"`
}

// withTools adds tools to the server while check runs.
func withTools(check func(*probe) error) func(*probe) error {
	return func(w *probe) error {
		about := framework.Describe("A tool of the testkit.") // framework.WithStrict refuses tools without a description
		steps := framework.Tool(toolSteps, func(context.Context, struct{}) (stepsOut, error) { return stepsOut{3}, nil }, about)
		fail := framework.Tool(toolFail, func(context.Context, struct{}) (string, error) { return "", framework.UserErrorf("out of tea") }, about)
		if err := w.server.Add(steps, fail); err != nil {
			return fmt.Errorf("adding tools of the testkit: %w", err)
		}
		defer w.server.Remove(steps, fail)
		if err := w.open(); err != nil {
			return err
		}
		return check(w)
	}
}

// toolResult is the result of a tool.
type toolResult struct {
	Content           []struct{ Type, Text string }
	StructuredContent json.RawMessage
	IsError           bool
}

// toolResultOf returns the result of a tool that must have failed or not, and checks its form.
func toolResultOf(r *response, fails bool) (found toolResult, err error) {
	err = json.Unmarshal(r.Result, &found)
	switch {
	case err != nil || found.Content == nil:
		err = errors.New("want content")
	case slices.ContainsFunc(found.Content, func(b struct{ Type, Text string }) bool {
		return !slices.Contains([]string{"text", "image", "audio", "resource", "resource_link"}, b.Type)
	}):
		err = errors.New("want content of text, images, audio, resources or links")
	case found.IsError != fails:
		err = fmt.Errorf("want isError to be %t", fails)
	}
	return found, err
}

// calls calls a tool that must fail or not.
func (w *probe) calls(name string, fails bool) (toolResult, error) {
	r, err := w.served("tools/call", fmt.Sprintf(`{"name":%q,"arguments":{}}`, name))
	if err != nil {
		return toolResult{}, err
	}
	return toolResultOf(r, fails)
}

// structuredTwice checks the structured result by its text and by the schema in the list of tools.
func structuredTwice(w *probe) error {
	result, err := w.calls(toolSteps, false)
	switch {
	case err != nil:
		return err
	case !sameJSON(result.StructuredContent, []byte(`{"steps":3}`)):
		return errors.New(`want structuredContent {"steps":3}`)
	case len(result.Content) == 0 || !sameJSON(result.StructuredContent, []byte(result.Content[0].Text)):
		return errors.New("want the structured content as text")
	}
	return entries(protocol.ListTools, func(_ *probe, tool json.RawMessage) error {
		name, _ := jsontext.Member(tool, "name")
		schema, has := jsontext.Member(tool, "outputSchema")
		if !has || string(name) != `"`+toolSteps+`"` {
			return nil
		}
		check, err := testhook.Schema(schema)
		if err == nil {
			err = check(result.StructuredContent)
		}
		return err
	})(w)
}
