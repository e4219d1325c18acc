package protocol

import (
	"encoding/json"
	"time"

	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// Result is the result of a request. The interface is sealed: a type switch over the types of this
// package is complete.
type Result interface{ result() }

// CacheHints tell a client how long it may cache a result, and whether it may use the result for
// this caller only (2026-07-28 server/utilities/caching).
type CacheHints struct {
	TTL     time.Duration // sent in whole milliseconds
	Private bool
}

// EmptyResult is a result without content.
type EmptyResult struct{ Meta Meta }

// InitializeResult is the result of initialize.
type InitializeResult struct {
	Version      string
	Capabilities ServerCapabilities
	Server       Implementation
	Instructions string
	Meta         Meta
}

// DiscoverResult is the result of server/discover (2026-07-28).
type DiscoverResult struct {
	Versions     []string
	Capabilities ServerCapabilities
	Server       Implementation // sent in _meta
	Instructions string
	Cache        CacheHints
	Meta         Meta
}

// ListToolsResult is the result of tools/list. Next is the cursor of the next page, or nil on the
// last page.
type ListToolsResult struct {
	Tools []Tool
	Next  *string
	Cache CacheHints
	Meta  Meta
}

// ListResourcesResult is the result of resources/list. Next is as in ListToolsResult.
type ListResourcesResult struct {
	Resources []Resource
	Next      *string
	Cache     CacheHints
	Meta      Meta
}

// ListTemplatesResult is the result of resources/templates/list. Next is as in ListToolsResult.
type ListTemplatesResult struct {
	Templates []ResourceTemplate
	Next      *string
	Cache     CacheHints
	Meta      Meta
}

// ListPromptsResult is the result of prompts/list. Next is as in ListToolsResult.
type ListPromptsResult struct {
	Prompts []Prompt
	Next    *string
	Cache   CacheHints
	Meta    Meta
}

// Page is one page of any list, with entries that are already encoded in the wire form of the
// dialect that sends the page. Each element of Entries holds one entry, or several separated by
// commas. Only servers use Page. Pages may be shared, so callers must not modify them.
type Page struct {
	Kind    ListKind
	Entries [][]byte
	Next    *string
	Cache   CacheHints
	Meta    Meta
}

// CallToolResult is the result of tools/call.
type CallToolResult struct {
	Content    []Block
	Structured json.RawMessage // nil if absent; null is a value (2026-07-28)
	Wrapped    bool            // the output schema does not describe an object; 2025-06-18 and 2025-11-25 send {"result": …}
	IsError    bool
	Meta       Meta
}

// ReadResourceResult is the result of resources/read.
type ReadResourceResult struct {
	Contents []Contents
	Cache    CacheHints
	Meta     Meta
}

// GetPromptResult is the result of prompts/get.
type GetPromptResult struct {
	Description string
	Messages    []Message
	Meta        Meta
}

// CompleteResult is the result of completion/complete.
type CompleteResult struct {
	Completion Completion
	Meta       Meta
}

// ListenResult is the result of subscriptions/listen. It ends a listen stream gracefully
// (2026-07-28).
type ListenResult struct{ ID jsonrpc.ID }

// InputRequiredResult is a result that asks the client for input (2026-07-28 basic/patterns/mrtr).
type InputRequiredResult struct {
	Requests []InputRequest
	State    *string
	Meta     Meta
}

// InputRequest is one question of an InputRequiredResult. Params is an ElicitParams,
// CreateMessageParams or ListRootsParams.
type InputRequest struct {
	Key    string
	Params Params
}

// CreateMessageResult is the result of sampling/createMessage: the message of the client's model.
type CreateMessageResult struct {
	Role       Role
	Content    []Block
	Model      string
	StopReason string
	Meta       Meta
}

// ListRootsResult is the result of roots/list.
type ListRootsResult struct {
	Roots []Root
	Meta  Meta
}

// ElicitResult is the result of elicitation/create: the user's answer. Action is "accept",
// "decline" or "cancel".
type ElicitResult struct {
	Action  string
	Content json.RawMessage // an object, or nil
	Meta    Meta
}

// CustomResult is the result of a method that the specification does not have. Raw is an object.
type CustomResult struct{ Raw json.RawMessage }

func (*EmptyResult) result()         {}
func (*InitializeResult) result()    {}
func (*DiscoverResult) result()      {}
func (*ListToolsResult) result()     {}
func (*ListResourcesResult) result() {}
func (*ListTemplatesResult) result() {}
func (*ListPromptsResult) result()   {}
func (*Page) result()                {}
func (*CallToolResult) result()      {}
func (*ReadResourceResult) result()  {}
func (*GetPromptResult) result()     {}
func (*CompleteResult) result()      {}
func (*ListenResult) result()        {}
func (*InputRequiredResult) result() {}
func (*CreateMessageResult) result() {}
func (*ListRootsResult) result()     {}
func (*ElicitResult) result()        {}
func (*CustomResult) result()        {}
