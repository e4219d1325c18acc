package client

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/dialect"
	"github.com/kagami-mcp/kagami/protocol/jsonrpc"
)

// farewell limits requests and notifications whose outcome does not matter, such as
// resources/unsubscribe.
const farewell = 10 * time.Second

// watchTable holds the subscriptions of a handshake session.
//
// turn is taken first, and mu only for the tables. The goroutine of a call takes turn with its
// context, and gives it back before it returns. While a renewal is in progress, turn may be held
// for a long time by a call that waits for it.
type watchTable struct {
	turn chan struct{} // a lock, as a channel with one element, held during a request: subscribe and unsubscribe must not overtake each other

	mu    sync.Mutex     // guards the fields below
	users map[string]int // number of watchers of each URI; written only while turn and mu are held
	all   []*updates
}

// openSession subscribes to each URI of the filter. It starts the goroutine that unsubscribes when
// ctx or the connection ends, and then calls cancel, the function of ctx.
//
// The updates are added before the first request, so that no change is missed. If a request fails,
// the URIs before it are given back in a goroutine of its own, because the caller's time may be
// over.
func (c *Client) openSession(ctx context.Context, cancel context.CancelFunc, d *dialect.Dialect, f protocol.SubscriptionFilter, u *updates) error {
	t := &c.watched
	t.add(u)
	for i, uri := range f.URIs {
		if err := c.watch(ctx, d, uri); err != nil {
			t.drop(u)
			_ = c.link.spawn(func() { c.unwatch(d, f.URIs[:i]) })
			return err
		}
	}
	return c.link.spawn(func() {
		defer cancel()
		select {
		case <-ctx.Done():
		case <-c.link.lost:
		}
		t.drop(u)
		u.end()
		c.unwatch(d, f.URIs)
	})
}

// watch subscribes to a URI and counts one watcher. After an error it has counted nothing.
func (c *Client) watch(ctx context.Context, d *dialect.Dialect, uri string) error {
	select {
	case c.watched.turn <- struct{}{}:
		defer func() { <-c.watched.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if _, err := c.do(ctx, d, &protocol.SubscribeParams{URI: uri}, how{}); err != nil {
		return err
	}
	c.watched.count(uri, 1)
	return nil
}

// unwatch unsubscribes from the URIs that have no other watchers. Errors are ignored, because the
// connection may be gone.
func (c *Client) unwatch(d *dialect.Dialect, uris []string) {
	ctx, cancel := context.WithTimeout(c.link.life, farewell)
	defer cancel()
	for _, uri := range uris {
		select {
		case c.watched.turn <- struct{}{}:
		case <-ctx.Done():
			return
		}
		if c.watched.count(uri, -1) == 0 {
			_, _ = c.do(ctx, d, &protocol.UnsubscribeParams{URI: uri}, how{})
		}
		<-c.watched.turn
	}
}

// count adds to the number of watchers of a URI and returns the new number. The caller holds turn.
func (t *watchTable) count(uri string, by int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users == nil {
		t.users = map[string]int{}
	}
	t.users[uri] += by
	n := t.users[uri]
	if n == 0 {
		delete(t.users, uri)
	}
	return n
}

func (t *watchTable) add(u *updates) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if u != nil {
		t.all = append(t.all, u)
	}
}

// drop removes u. It may be called if u was not added, and on nil.
func (t *watchTable) drop(u *updates) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = slices.DeleteFunc(t.all, func(v *updates) bool { return v == u })
}

// offer queues a change for all watchers that it concerns. The reader calls it.
func (t *watchTable) offer(uri string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, u := range t.all {
		if own, ok := u.covers(uri); ok {
			u.offer(own)
		}
	}
}

// updated passes a notifications/resources/updated to the watchers. On revisions with listen
// streams these are the watchers of the stream, on others the watchers of the URI.
func (c *Client) updated(d *dialect.Dialect, stream jsonrpc.ID, uri string) {
	if !d.ListenStream() {
		c.watched.offer(uri)
		return
	}
	if s := c.streams.find(unquoted(stream)); s != nil && s.updates != nil {
		if own, ok := s.updates.covers(uri); ok {
			uri = own
		}
		s.updates.offer(uri)
	}
}
