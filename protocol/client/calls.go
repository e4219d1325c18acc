package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/jsontext"
)

// ReadResource reads a resource. Questions of the server are answered as in
// [Client.CallTool].
func (c *Client) ReadResource(ctx context.Context, uri string) (*protocol.ReadResourceResult, error) {
	return ask[*protocol.ReadResourceResult](ctx, c, &protocol.ReadResourceParams{URI: uri}, how{})
}

// GetPrompt gets a prompt. Questions of the server are answered as in [Client.CallTool].
func (c *Client) GetPrompt(ctx context.Context, name string, args map[string]string) (*protocol.GetPromptResult, error) {
	return ask[*protocol.GetPromptResult](ctx, c, &protocol.GetPromptParams{Name: name, Arguments: args}, how{})
}

// Complete asks for completions of one argument. A nil p is an error.
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

// Ping asks whether the server is there. If the revision has no ping, any answer to
// server/discover is proof enough.
func (c *Client) Ping(ctx context.Context) error {
	d := c.dialect.Load()
	var p protocol.Params = &protocol.PingParams{}
	if !d.Handshake() {
		p = &protocol.DiscoverParams{}
	}
	_, err := c.do(ctx, d, p, how{})
	return err
}

// SetLogLevel asks for log messages of this level and above: once for the session or, on a
// revision that wants that, with each request from now on, which cannot fail. With an
// unknown level it returns an error, and nothing is sent.
func (c *Client) SetLogLevel(ctx context.Context, level protocol.Level) error {
	if level.Severity() < 0 {
		return fmt.Errorf("client: %q is no log level", level)
	}
	d := c.dialect.Load()
	if d.LogLevelPerRequest() {
		c.level.Store(&level)
		return nil
	}
	if _, err := c.do(ctx, d, &protocol.SetLevelParams{Level: level}, how{}); err != nil {
		return err
	}
	c.level.Store(&level) // to be restored in a new session
	return nil
}

// RootsChanged tells the server that OnRoots would answer differently now. If the revision
// has no such notification, nothing is sent: the server asks anew for each call.
func (c *Client) RootsChanged(ctx context.Context) error {
	d := c.dialect.Load()
	if !d.ClientNotification(protocol.NotificationRootsChanged) {
		return nil
	}
	err := c.notify(ctx, d, &protocol.RootsChangedParams{})
	if err == nil {
		return nil
	}
	if renewed, failed := c.remedy(ctx, d, protocol.NotificationRootsChanged, err); failed != nil {
		return fmt.Errorf("%w; %w", err, failed)
	} else if !renewed {
		return err
	}
	return nil // a new session has asked for no roots yet
}

// Request calls a method that the specification does not have, or one of its methods
// without the help of this package. params is an object or nil; what the revision wants in
// _meta is added. The result is an object, as the server sent it: the caller has to answer
// questions in it, unless [InRounds] is given.
func (c *Client) Request(ctx context.Context, method string, params json.RawMessage, opts ...CallOption) (json.RawMessage, error) {
	if params != nil && (jsontext.Check(params, limits()) != nil || jsontext.KindOf(params) != jsontext.KindObject) {
		return nil, errors.New("client: params must be a JSON object")
	}
	if params != nil {
		params = jsontext.Compact(nil, params) // frames must not contain line breaks
	}
	d, p, h := c.dialect.Load(), &protocol.CustomParams{Name: method, Raw: params}, newHow(opts)
	if !h.rounds {
		return c.do(ctx, d, p, h)
	}
	_, raw, err := c.inRounds(ctx, d, p, h)
	return raw, err
}
