// Package change is the port by which the processes that share a store tell each
// other what has happened: a task that ended, an answer that came to another node,
// a list that changed.
//
//	go bus.Subscribe(ctx, func(message []byte) { ... })
//	err := bus.Publish(ctx, message)
//
// A bus tells; it keeps nothing. Whoever must know looks into a store, and a message
// says when to look: so a lost one costs time, never an answer.
//
// The package holds the interface, no implementation and no goroutine.
package change

import "context"

// Bus fans messages out to every subscriber, on every node, those of the publishing
// one included. Safe for concurrent use. It neither keeps nor hands out a caller's
// slice.
type Bus interface {
	// Publish tells all that are subscribed now. It does not wait for them: each gets
	// the messages of one publisher in their order, at most once each, and what is
	// published after the Publish of another has returned after what that one said. An
	// error says that nobody, or not everybody, was told.
	Publish(ctx context.Context, message []byte) error

	// Subscribe calls fn for each message, one after the other, until ctx ends, and
	// returns then, after the last call of fn. fn must not block for long, and may keep
	// the message, which it must not change: others see it, too.
	//
	// fn(nil) says: from here on, look for yourself at what happened before. It is the
	// first call, as soon as messages arrive, and comes again whenever some may have been
	// lost, because the bus was away or fn too slow. A message that is empty does not
	// arrive. Subscribe outlives a bus that is away; the error is ctx's cause.
	Subscribe(ctx context.Context, fn func(message []byte)) error
}
