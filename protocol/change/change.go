// Package change defines the bus that processes with a shared store use to notify each other.
// Examples of messages are that a task has ended, that an answer has arrived at another process, or
// that a list has changed.
//
//	go bus.Subscribe(ctx, func(message []byte) { ... })
//	err := bus.Publish(ctx, message)
//
// A bus stores nothing. The state is in the store, and a message only tells when to read it. A lost
// message therefore costs time but never an answer.
//
// The package has only the interface. Implementations are in framework/store; testkit/storetest
// tests them.
package change

import "context"

// Bus delivers messages to all subscribers in all processes, including the publishing process. It
// is safe for concurrent use. It does not retain slices of its callers, and does not return them to
// others.
type Bus interface {
	// Publish sends a message to all current subscribers, without waiting for them. Each subscriber
	// gets the messages of one publisher in order and at most once. If one Publish returns before
	// another begins, its message arrives first, also if the publishers differ. An error means that
	// the message did not reach all subscribers, and perhaps none.
	//
	// Publish ends soon after its context. The server gives it 20 seconds at most.
	Publish(ctx context.Context, message []byte) error

	// Subscribe calls fn for each message, one at a time, until ctx ends. It returns ctx's cause,
	// after the last call of fn. fn must not block for long. It may keep the message but must not
	// modify it, because other subscribers share it.
	//
	// fn(nil) means that messages may have been missed, so the subscriber must read the store. It
	// is the first call, made once messages can arrive. It is repeated whenever messages may have
	// been lost, because the bus was unreachable or fn too slow. Empty messages are not delivered.
	//
	// While the bus is unreachable, Subscribe keeps trying, for at least a minute. If it returns before
	// ctx ends, the server logs the error, and subscribes again after a second.
	Subscribe(ctx context.Context, fn func(message []byte)) error
}
