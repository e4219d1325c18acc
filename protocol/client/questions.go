package client

import (
	"context"
	"encoding/json"

	"github.com/kagami-mcp/kagami/protocol"
)

// ElicitRequest is a question to the user, by a form or a page.
type ElicitRequest struct {
	Message string
	Schema  []byte // nil for a page; see [ParseForm]
	URL     string // never opened by this package; show it to the user in full and let the user agree
	ID      string // id of a URL question, on revisions that have one; notifications/elicitation/complete names it
}

// ElicitAnswer is the user's answer. Action is "accept", "decline" or "cancel". Content is used for
// accepted forms only. See [OnElicit].
type ElicitAnswer struct {
	Action  string
	Content map[string]any
}

// SampleRequest is a question to the model.
type SampleRequest struct {
	Messages  []protocol.Message
	System    string
	MaxTokens int
	Tools     []protocol.Tool

	ToolChoice     string // "auto", "required", "none" or empty
	Preferences    *protocol.ModelPreferences
	Temperature    *float64
	StopSequences  []string
	IncludeContext string // "none", "thisServer", "allServers" or empty
	Metadata       json.RawMessage
}

// SampleAnswer is the model's reply.
type SampleAnswer struct {
	Model      string
	Content    []protocol.Block
	StopReason string
}

// OnElicit declares the elicitation capability, for forms and URLs (see [FormOnly]). fn is called
// concurrently, each time in a goroutine of its own (but see [OneByOne]). Its context ends when the
// server withdraws the question, or with the call that the question belongs to.
//
// On handshake revisions, the question is a request of the server. If fn returns a *protocol.Error,
// the server receives it; [ErrRejected] is sent as error -1. Of [ErrInvalidAnswer] it receives the
// text, and of any other error only that the handler failed. On 2026-07-28, the question comes in
// the result of a call. An error of fn then ends the call and is returned to its caller; nothing is
// sent to the server. Decline and cancel are answers, not errors, on all revisions.
//
// The content of an accepted form is completed with the schema's defaults for all fields that are
// absent or nil, and then checked (see [Form.Check]). Invalid content is not sent; the question
// fails with [ErrInvalidAnswer].
func OnElicit(fn func(context.Context, *ElicitRequest) (*ElicitAnswer, error)) Option {
	return optionFunc(func(c *config) { c.elicit = fn })
}

// UncheckedForms sends the content of accepted forms as the handler returned it, without defaults
// and checks. Use it to test how a server treats an invalid answer.
func UncheckedForms() Option { return optionFunc(func(c *config) { c.unchecked = true }) }

// FormOnly removes URL questions from the elicitation capability. If the server asks one anyway, it
// is refused with -32602 (2025-11-25 client/elicitation).
func FormOnly() Option { return optionFunc(func(c *config) { c.formOnly = true }) }

// OnSample declares the sampling capability, with tools. fn is called as described at [OnElicit].
func OnSample(fn func(context.Context, *SampleRequest) (*SampleAnswer, error)) Option {
	return optionFunc(func(c *config) { c.sample = fn })
}

// OnRoots declares the roots capability. fn is called as described at [OnElicit].
func OnRoots(fn func(context.Context) ([]protocol.Root, error)) Option {
	return optionFunc(func(c *config) { c.roots = fn })
}
