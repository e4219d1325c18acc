package client

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// CallOption configures one call. It is sealed.
type CallOption interface{ callOption(h *how) }

type callOptionFunc func(*how)

func (f callOptionFunc) callOption(h *how) { f(h) }

// OnProgress requests progress of this call. fn is called in order and never concurrently. It is
// not called after the call has returned a result, unless the result is a task (see
// [Client.CallTask]). Like a function of [OnNotification], fn must not end its goroutine.
func OnProgress(fn func(protocol.Progress)) CallOption {
	return callOptionFunc(func(h *how) { h.progress = fn })
}

// CallTool calls a tool. args may have any type that marshals to a JSON object; nil sends {}. If
// the tool reports an error (isError), CallTool returns the result and a nil error.
//
// If a server of 2026-07-28 has to ask before it can finish, it answers with questions. The
// handlers of [OnElicit], [OnSample] and [OnRoots] answer all questions of a round concurrently,
// and the client sends the call again with the answers, up to [MaxRounds] times. If a handler is
// missing, CallTool returns [ErrInputRequired]. If a handler fails, CallTool returns its error.
func (c *Client) CallTool(ctx context.Context, name string, args any, opts ...CallOption) (*protocol.CallToolResult, error) {
	arguments, err := marshalArguments(args)
	if err != nil {
		return nil, fmt.Errorf("client: arguments of tool %q: %w", name, err)
	}
	return ask[*protocol.CallToolResult](ctx, c, &protocol.CallToolParams{Name: name, Arguments: arguments}, newHow(opts))
}

func newHow(opts []CallOption) how {
	var h how
	for _, o := range opts {
		if o == nil {
			h.nilOption = true
			continue
		}
		o.callOption(&h)
	}
	return h
}

func marshalArguments(args any) (json.RawMessage, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	switch jsontext.KindOf(raw) {
	case jsontext.KindObject:
		return raw, jsontext.Check(raw, jsontext.Limits{}) // encoding/json takes half a surrogate pair
	case jsontext.KindNull: // some servers refuse a call without the member
		return json.RawMessage("{}"), nil
	default:
		return nil, fmt.Errorf("%T marshals to a JSON %s, want an object", args, jsontext.KindOf(raw))
	}
}

// Call calls a tool and decodes its structured result with encoding/json. If the result has no
// structured content, Call uses its text: a string Out is set to the text, and any other Out is
// decoded from it. Revisions without structured results send JSON as text. If the tool reports an
// error (isError), Call returns a [*ToolError].
//
// Kagami servers encode some types differently than encoding/json. For example, a time.Duration is
// a string like "90s" on the wire. Use Client.CallTool and framework.DecodeResult to read such
// results, and framework.EncodeJSON to write such arguments.
func Call[Out any](ctx context.Context, c *Client, name string, args any, opts ...CallOption) (Out, error) {
	var out Out
	result, err := c.CallTool(ctx, name, args, opts...)
	if err != nil {
		return out, err
	}
	if result.IsError {
		return out, &ToolError{Tool: name, Result: result}
	}
	if err := decodeOut(result, &out); err != nil {
		return out, fmt.Errorf("client: result of tool %q: %w", name, err)
	}
	return out, nil
}

func decodeOut[Out any](result *protocol.CallToolResult, out *Out) error {
	text := dialect.TextOf(result.Content)
	if s, ok := any(out).(*string); ok {
		if *s, ok = jsontext.String(result.Structured); !ok {
			*s = text
		}
		return nil
	}
	raw := []byte(result.Structured)
	if raw == nil {
		raw = []byte(text)
	}
	err := json.Unmarshal(raw, out)
	if err != nil && unwrap(raw, out) {
		err = nil
	}
	return err
}

// unwrap decodes a value from the wrapping object that 2025-06-18 and 2025-11-25 require around
// structured results that are not objects. It reports whether there was such a value.
func unwrap[Out any](raw []byte, out *Out) bool {
	wrapped, ok := jsontext.Member(raw, "result")
	if !ok || jsontext.Len(raw) != 1 {
		return false
	}
	var fresh Out
	if json.Unmarshal(wrapped, &fresh) != nil {
		return false
	}
	*out = fresh
	return true
}
