// Package change defines the bus over which processes that share a store notify each
// other: a task has ended, an answer has arrived at another process, a list has changed.
//
//	go bus.Subscribe(ctx, func(message []byte) { ... })
//	err := bus.Publish(ctx, message)
//
// A bus stores nothing. The state is in the store, and a message only says when to look
// there, so a lost message costs time but never an answer.
//
// The package has only the interface. Implementations are in framework/store;
// testkit/storetest tests them.
package change

import "context"

// Bus delivers messages to all subscribers in all processes, the publishing one
// included. It is safe for concurrent use, and neither retains slices of its callers nor
// returns them to others.
type Bus interface {
	// Publish sends a message to everyone subscribed at this moment, without waiting for
	// them. Each subscriber gets the messages of one publisher in order and at most
	// once. If one Publish returns before another begins, its message arrives first,
	// whoever the publishers are. An error means that the message did not reach
	// everyone, and perhaps no one.
	Publish(ctx context.Context, message []byte) error

	// Subscribe calls fn for each message, one at a time, until ctx ends; it returns
	// ctx's cause, after the last call of fn. fn must not block for long. It may keep the
	// message but must not modify it, because other subscribers share it.
	//
	// fn(nil) means that messages may have been missed, so the subscriber must look at
	// the store itself. It is the first call, made once messages can arrive, and it is
	// repeated whenever some may have been lost, because the bus was unreachable or fn too
	// slow. Empty messages are not delivered. While the bus is unreachable, Subscribe
	// keeps trying.
	Subscribe(ctx context.Context, fn func(message []byte)) error
}
