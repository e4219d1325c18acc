package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// CallOption configures one call. Sealed.
type CallOption interface{ callOption(h *how) }

type callOptionFunc func(*how)

func (f callOptionFunc) callOption(h *how) { f(h) }

// OnProgress asks for progress of this call. fn is called in order, never concurrently, and
// never after the call has returned a result, unless that is a task (see
// [Client.CallTask]).
func OnProgress(fn func(protocol.Progress)) CallOption {
	return callOptionFunc(func(h *how) { h.progress = fn })
}

// CallTool calls a tool. An isError result is returned as such, not as an error.
// args is anything that marshals to an object; nil sends none.
//
// A server of 2026-07-28 that needs to ask before it can finish answers with its questions.
// The handlers of [OnElicit], [OnSample] and [OnRoots] answer them, all of one round at
// once, and the call is sent again with the answers, up to [MaxRounds] times. If a handler
// is missing, the error is [ErrInputRequired]; an error of a handler is the error of the
// call.
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
	if args == nil {
		return nil, nil
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	switch jsontext.KindOf(raw) {
	case jsontext.KindObject:
		return raw, nil
	case jsontext.KindNull:
		return nil, nil
	default:
		return nil, fmt.Errorf("%T marshals to a JSON %s, want an object", args, jsontext.KindOf(raw))
	}
}

// Call calls a tool and decodes its structured result by encoding/json. If there is none, a
// string Out is the text, and any other Out is decoded from the text, where revisions
// without structured results carry it. An isError result becomes *ToolError.
//
// Kagami servers encode some types differently than encoding/json, such as a time.Duration,
// which is a string like "90s" on the wire. Use Client.CallTool and framework.DecodeResult
// to read these, and framework.EncodeJSON to write such arguments.
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
	text := textOf(result.Content)
	if s, ok := any(out).(*string); ok {
		*s = stringOf(result.Structured, text)
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

// stringOf returns the structured result if it is a string, else the text.
func stringOf(structured json.RawMessage, text string) string {
	if s, ok := jsontext.String(structured); ok {
		return s
	}
	return text
}

// unwrap takes a value out of the object that 2025-06-18 and 2025-11-25 demand around
// structured results that are not objects.
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

// textOf joins the text blocks.
func textOf(blocks []protocol.Block) string {
	var texts []string
	for _, b := range blocks {
		if t, ok := b.(protocol.Text); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}
