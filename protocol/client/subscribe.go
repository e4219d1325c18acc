package client

import (
	"context"
	"iter"
	"slices"

	"github.com/kagami-mcp/kagami/protocol"
)

// Subscribe watches a resource until ctx ends. The sequence yields the URI that changed,
// which may be one below uri; it ends with ctx or the connection, or when the server ends
// the subscription. Changes that have not been fetched yet are merged by URI. Over HTTP it
// survives a restart of the server: it then yields uri itself, since what has changed in
// between is not known. The error says that the server refuses or does not offer the
// subscription.
func (c *Client) Subscribe(ctx context.Context, uri string) (iter.Seq[string], error) {
	u := newUpdates(uri)
	if _, err := c.listen(ctx, protocol.SubscriptionFilter{URIs: []string{uri}}, u); err != nil {
		return nil, err
	}
	return u.all(ctx), nil
}

// Listen asks for the notifications of filter, which reach OnNotification until stop is
// called, ctx ends, or the server ends the subscription (which only [Client.Subscribe]
// reports). It returns when the server has acknowledged; a server may leave out what it
// does not announce, but not everything. Over HTTP it survives a restart of the server;
// what changed in between is not reported. On handshake revisions changed lists are always
// announced, and only filter.URIs is subscribed to.
func (c *Client) Listen(ctx context.Context, filter protocol.SubscriptionFilter) (stop func(), err error) {
	return c.listen(ctx, filter, nil)
}

func (c *Client) listen(ctx context.Context, filter protocol.SubscriptionFilter, u *updates) (func(), error) {
	d := c.dialect.Load()
	filter.URIs = slices.Clone(filter.URIs) // unsubscribed from later
	ctx, cancel := context.WithCancel(ctx)
	open := c.openSession
	if d.ListenStream() {
		open = c.openStream
	}
	if err := open(ctx, d, filter, u); err != nil {
		cancel()
		return nil, err
	}
	return cancel, nil
}
