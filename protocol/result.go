package protocol

import (
	"encoding/json"
	"time"

	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// Result is the sealed union of all results.
type Result interface{ result() }

// CacheHints tell a client how long it may keep a result, and whether for this
// caller only (2026-07-28 server/utilities/caching).
type CacheHints struct {
	TTL     time.Duration // sent in whole milliseconds
	Private bool
}

// EmptyResult acknowledges.
type EmptyResult struct{ Meta Meta }

// InitializeResult opens a session.
type InitializeResult struct {
	Version      string
	Capabilities ServerCapabilities
	Server       Implementation
	Instructions string
	Meta         Meta
}

// DiscoverResult says what the server is (2026-07-28).
type DiscoverResult struct {
	Versions     []string
	Capabilities ServerCapabilities
	Server       Implementation // travels in _meta
	Instructions string
	Cache        CacheHints
	Meta         Meta
}

// ListToolsResult answers tools/list. Next is the cursor of the next page, nil at the end.
type ListToolsResult struct {
	Tools []Tool
	Next  *string
	Cache CacheHints
	Meta  Meta
}

// ListResourcesResult answers resources/list.
type ListResourcesResult struct {
	Resources []Resource
	Next      *string
	Cache     CacheHints
	Meta      Meta
}

// ListTemplatesResult answers resources/templates/list.
type ListTemplatesResult struct {
	Templates []ResourceTemplate
	Next      *string
	Cache     CacheHints
	Meta      Meta
}

// ListPromptsResult answers prompts/list.
type ListPromptsResult struct {
	Prompts []Prompt
	Next    *string
	Cache   CacheHints
	Meta    Meta
}

// Page is one page of any list whose entries were encoded before, in the
// wire form of the dialect that will carry it: one in each piece, or several with
// commas between them. Servers only. Pages may be shared: read-only.
type Page struct {
	Kind    ListKind
	Entries [][]byte
	Next    *string
	Cache   CacheHints
	Meta    Meta
}

// CallToolResult answers tools/call.
type CallToolResult struct {
	Content    []Block
	Structured json.RawMessage // nil: absent; null is a value (2026-07-28)
	Wrapped    bool            // the tool's output schema is not an object's: 2025-06-18 and 2025-11-25 see {"result": …}
	IsError    bool
	Meta       Meta
}

// ReadResourceResult answers resources/read.
type ReadResourceResult struct {
	Contents []Contents
	Cache    CacheHints
	Meta     Meta
}

// GetPromptResult answers prompts/get.
type GetPromptResult struct {
	Description string
	Messages    []Message
	Meta        Meta
}

// CompleteResult answers completion/complete.
type CompleteResult struct {
	Completion Completion
	Meta       Meta
}

// ListenResult ends a subscription stream gracefully (2026-07-28).
type ListenResult struct{ ID jsonrpc.ID }

// InputRequiredResult asks the client for input (2026-07-28 basic/patterns/mrtr).
type InputRequiredResult struct {
	Requests []InputRequest
	State    *string
	Meta     Meta
}

// InputRequest is one question of an InputRequiredResult; Params is an
// ElicitParams, CreateMessageParams or ListRootsParams.
type InputRequest struct {
	Key    string
	Params Params
}

// CreateMessageResult is what the client's model said.
type CreateMessageResult struct {
	Role       Role
	Content    []Block
	Model      string
	StopReason string
	Meta       Meta
}

// ListRootsResult lists the client's roots.
type ListRootsResult struct {
	Roots []Root
	Meta  Meta
}

// ElicitResult is what the user said. Action is "accept", "decline" or "cancel".
type ElicitResult struct {
	Action  string
	Content json.RawMessage // an object, or nil
	Meta    Meta
}

// CustomResult is that of a method that the specification does not have; Raw is an object.
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
