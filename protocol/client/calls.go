package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// ReadResource reads a resource. Questions of the server are answered as in [Client.CallTool].
func (c *Client) ReadResource(ctx context.Context, uri string) (*protocol.ReadResourceResult, error) {
	return ask[*protocol.ReadResourceResult](ctx, c, &protocol.ReadResourceParams{URI: uri}, how{})
}

// GetPrompt gets a prompt. Questions of the server are answered as in [Client.CallTool].
func (c *Client) GetPrompt(ctx context.Context, name string, args map[string]string) (*protocol.GetPromptResult, error) {
	return ask[*protocol.GetPromptResult](ctx, c, &protocol.GetPromptParams{Name: name, Arguments: args}, how{})
}

// Complete requests completions of one argument. If p is nil, it returns an error.
func (c *Client) Complete(ctx context.Context, p *protocol.CompleteParams) (protocol.Completion, error) {
	if p == nil {
		return protocol.Completion{}, errors.New("client: completion/complete has no params")
	}
	r, err := ask[*protocol.CompleteResult](ctx, c, p, how{})
	if err != nil {
		return protocol.Completion{}, err
	}
	return r.Completion, nil
}

// Ping checks that the server responds. On a revision without ping it sends server/discover.
func (c *Client) Ping(ctx context.Context) error {
	d := c.dialect.Load()
	var p protocol.Params = &protocol.PingParams{}
	if !d.Handshake() {
		p = &protocol.DiscoverParams{}
	}
	_, err := c.do(ctx, d, p, how{})
	return err
}

// SetLogLevel requests log messages of this level and above. On handshake revisions it sets the
// level once for the session. On revisions that send the level with each request, it applies to all
// later requests, and SetLogLevel does not fail. If level is unknown, SetLogLevel returns an error
// and does not send anything.
func (c *Client) SetLogLevel(ctx context.Context, level protocol.Level) error {
	if level.Severity() < 0 {
		return fmt.Errorf("client: %q is not a log level", level)
	}
	d := c.dialect.Load()
	if d.LogLevelPerRequest() {
		c.level.Store(&level)
		return nil
	}
	if _, err := c.do(ctx, d, &protocol.SetLevelParams{Level: level}, how{}); err != nil {
		return err
	}
	c.level.Store(&level) // for a new session, which has to set it again
	return nil
}

// RootsChanged notifies the server that OnRoots would now return other roots. If the revision has
// no such notification, RootsChanged does nothing, because the server asks again for each call.
func (c *Client) RootsChanged(ctx context.Context) error {
	d := c.dialect.Load()
	if !d.ClientNotification(protocol.NotificationRootsChanged) {
		return nil
	}
	err := c.notify(ctx, d, &protocol.RootsChangedParams{})
	if err != nil { // no second attempt: a new session has not asked for roots yet
		err = c.remedy(ctx, d, protocol.NotificationRootsChanged, err)
	}
	return err
}

// Request calls a method that the specification does not have, or a method of the specification
// without the help of this package. params must be a JSON object or nil. Request adds the _meta
// that the revision requires. It returns the result as the server sent it, always an object. If the
// result contains questions, the caller has to answer them, unless [InRounds] is given.
func (c *Client) Request(ctx context.Context, method string, params json.RawMessage, opts ...CallOption) (json.RawMessage, error) {
	if params != nil && (jsontext.Check(params, limits(len(params))) != nil || jsontext.KindOf(params) != jsontext.KindObject) {
		return nil, errors.New("client: params must be a JSON object")
	}
	if params != nil {
		params = jsontext.Compact(nil, params) // frames must not contain line breaks
	}
	d, p, h := c.dialect.Load(), &protocol.CustomParams{Name: method, Raw: params}, newHow(opts)
	if !h.rounds {
		raw, err := c.do(ctx, d, p, h)
		if err == nil && jsontext.KindOf(raw) != jsontext.KindObject {
			return nil, fmt.Errorf("client: invalid result of %s: result must be an object", method)
		}
		return raw, err
	}
	_, raw, err := c.inRounds(ctx, d, p, h)
	return raw, err
}
