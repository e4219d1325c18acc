package client

import (
	"context"
	"iter"
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
)

// Subscribe watches a resource until ctx ends. The sequence yields each URI that changed: uri or a
// URI below it. Changes of the same URI are merged until they are fetched. The sequence ends with
// ctx, with the connection, or when the server ends the subscription.
//
// Over HTTP the subscription survives a restart of the server.
// The sequence then yields uri, because the changes in between are unknown. If the server refuses
// or does not offer the subscription, Subscribe returns an error.
func (c *Client) Subscribe(ctx context.Context, uri string) (iter.Seq[string], error) {
	u := newUpdates(uri)
	if _, err := c.listen(ctx, protocol.SubscriptionFilter{URIs: []string{uri}}, u); err != nil {
		return nil, err
	}
	return u.all(ctx), nil
}

// Listen requests the notifications of filter. They reach OnNotification until stop is called, ctx
// ends, or the server ends the subscription. Only the sequence of [Client.Subscribe] shows that the
// server has ended it. Listen returns when the server has acknowledged. The server may grant only a
// part of filter; if it grants nothing, Listen returns an error.
//
// Over HTTP the subscription survives a restart of the server; changes in between are not reported.
// On handshake revisions, the server always announces changed lists, and Listen subscribes only to
// filter.URIs.
func (c *Client) Listen(ctx context.Context, filter protocol.SubscriptionFilter) (stop func(), err error) {
	return c.listen(ctx, filter, nil)
}

func (c *Client) listen(ctx context.Context, filter protocol.SubscriptionFilter, u *updates) (func(), error) {
	d := c.dialect.Load()
	filter.URIs = slices.Clone(filter.URIs) // kept, to unsubscribe and to open the stream again
	filter.Tasks = slices.Clone(filter.Tasks)
	ctx, cancel := context.WithCancel(ctx)
	open := c.openSession
	if d.ListenStream() {
		open = c.openStream
	}
	if err := open(ctx, cancel, d, filter, u); err != nil {
		cancel()
		return nil, err
	}
	return cancel, nil
}
