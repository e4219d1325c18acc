package redisstore

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/kagami-mcp/kagami/framework/store/internal/inbox"
)

const (
	// heartbeat is how long the connection may be silent before a ping is sent. If it stays silent
	// as long again, the connection counts as lost.
	heartbeat = 3 * time.Second
	// The pause before another try grows from the first to the longest.
	firstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second
	// patience is how long Subscribe tries before it returns an error. The server logs the error.
	patience = time.Minute
)

// changes is the change.Bus, on one channel.
//
// It has no state: each Subscribe has a connection, a goroutine and an inbox of its own.
type changes struct{ store *Store }

// Publish waits until Redis has the message, not until subscribers have it.
func (c *changes) Publish(ctx context.Context, message []byte) error {
	if len(message) == 0 {
		return nil
	}
	if c.store.fault != nil {
		return c.store.fault
	}
	node, err := c.node(ctx)
	if err == nil {
		err = (once{node}).do(ctx, "publish", c.store.channel(), c.store.box.seal(message, c.binding())).Err()
	}
	if err != nil {
		return failed("publishing", err)
	}
	return nil
}

// binding returns the additional data that binds a sealed message to this channel, so that it cannot
// be opened elsewhere.
func (c *changes) binding() []byte { return binding("message", c.store.channel()) }

// node returns the client for the node that carries all messages. A Cluster accepts a message at
// any node and passes it on to all others. It keeps no order then, and a node may receive the
// message before it has registered a subscriber.
func (c *changes) node(ctx context.Context) (redis.UniversalClient, error) {
	cluster, ok := c.store.client.(*redis.ClusterClient)
	if !ok {
		return c.store.client, nil
	}
	return cluster.MasterForKey(ctx, c.store.channel())
}

// Subscribe calls fn with each message until ctx ends or the store is closed. If it cannot
// subscribe for a minute, it returns the error. It reads in its own goroutine, which ends before
// Subscribe returns.
func (c *changes) Subscribe(ctx context.Context, fn func(message []byte)) error {
	if c.store.fault != nil {
		return c.store.fault
	}
	ctx, end, err := c.store.begin(ctx)
	if err != nil {
		return err
	}
	defer end() // after the reader has ended, because Close waits for end
	ctx, cancel := context.WithCancelCause(ctx)
	box, reader := inbox.New(), sync.WaitGroup{}
	defer reader.Wait()
	defer cancel(nil)
	reader.Go(func() { cancel(c.listen(ctx, box)) })
	return box.Serve(ctx, fn)
}

// listen reconnects whenever the connection is lost, until ctx ends. It returns an error if it has
// not been subscribed for the duration of patience.
//
// It is the goroutine of a subscriber. It only fills box, and never waits for the subscriber.
func (c *changes) listen(ctx context.Context, box *inbox.Inbox) error {
	last := time.Now() // when the last subscription ended
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, longestPause) {
		subscribed, err := c.receive(ctx, box)
		switch {
		case subscribed:
			pause, last = firstPause, time.Now()
		case time.Since(last) >= patience:
			return failed("subscribing", err)
		}
		rest(ctx, pause)
	}
	return nil
}

// rest waits for d, or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// receive reads from one connection until the connection fails with an error. It reports whether it
// had subscribed.
//
// The connection belongs to this call. It is closed when ctx ends, by another goroutine, and once
// more at the end, which has no effect.
func (c *changes) receive(ctx context.Context, box *inbox.Inbox) (subscribed bool, _ error) {
	conn := c.store.client.Subscribe(ctx, c.store.channel())
	done := func() { _ = conn.Close() }
	defer done()
	defer context.AfterFunc(ctx, done)() // a read does not look at its context
	for asked := false; ; {
		got, err := conn.ReceiveTimeout(ctx, heartbeat)
		switch {
		case err == nil:
			asked = false
		case isTimeout(err) && !asked && subscribed:
			asked = true
			err = conn.Ping(ctx)
		}
		if err != nil {
			return subscribed, err
		}
		switch m := got.(type) {
		case *redis.Subscription:
			subscribed = true
			box.Lost()
		case *redis.Message:
			c.take(box, m.Payload)
		}
	}
}

// take puts a message into box. A message that no key of this store opens may come from a server
// that already has a newer key. take then reports a loss, so that the subscriber reads everything
// again.
func (c *changes) take(box *inbox.Inbox, payload string) {
	message, err := c.store.box.open(payload, c.binding())
	if err != nil {
		box.Lost()
		return
	}
	box.Put(message)
}

// isTimeout reports whether a read has ended without a message in its time.
func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}
