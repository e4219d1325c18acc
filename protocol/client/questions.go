package client

import (
	"context"
	"encoding/json"

	"github.com/kagami-mcp/kagami/protocol"
)

// ElicitRequest is a form or URL question.
type ElicitRequest struct {
	Message string
	Schema  []byte // nil for a URL question; see [ParseForm]
	URL     string // never opened by this package; the user must see it in full and agree
	ID      string // of a URL question, where the revision has it: notifications/elicitation/complete names it
}

// ElicitAnswer is what the user said. Action is "accept", "decline" or "cancel";
// Content counts for accepted forms only. See [OnElicit].
type ElicitAnswer struct {
	Action  string
	Content map[string]any
}

// SampleRequest is a sampling question.
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

// OnElicit declares the elicitation capability, forms and URLs (see [FormOnly]).
// fn is called concurrently, each time in a goroutine of its own (but see [OneByOne]).
// Its context ends when the question is withdrawn: by the server, or with the call that it
// belongs to.
//
// On handshake revisions the question is a request of the server: it sees a *protocol.Error
// that fn returns, and of any other error only that there was one; [ErrRejected] is error
// -1. On 2026-07-28 the question comes within the result of a call: an error of fn ends
// that call, whose caller gets it, and the server hears nothing. Decline and cancel are
// answers, not errors, on all revisions.
//
// The content of an accepted form is completed with the defaults of the form's
// schema for all fields that are absent or nil, and then checked against the
// schema (see [Form.Check]). What does not fit is never sent: it is an error of fn,
// [ErrInvalidAnswer].
func OnElicit(fn func(context.Context, *ElicitRequest) (*ElicitAnswer, error)) Option {
	return optionFunc(func(c *config) { c.elicit = fn })
}

// UncheckedForms sends the content of accepted forms as the handler gave it,
// without defaults and checks: for tests of how a server takes an invalid answer.
func UncheckedForms() Option { return optionFunc(func(c *config) { c.unchecked = true }) }

// FormOnly leaves URL questions out of the elicitation capability; one that arrives anyway
// is refused with -32602 (2025-11-25 client/elicitation).
func FormOnly() Option { return optionFunc(func(c *config) { c.formOnly = true }) }

// OnSample declares the sampling capability, with tools. As for fn, see [OnElicit].
func OnSample(fn func(context.Context, *SampleRequest) (*SampleAnswer, error)) Option {
	return optionFunc(func(c *config) { c.sample = fn })
}

// OnRoots declares the roots capability. As for fn, see [OnElicit].
func OnRoots(fn func(context.Context) ([]protocol.Root, error)) Option {
	return optionFunc(func(c *config) { c.roots = fn })
}
