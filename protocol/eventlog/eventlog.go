// Package eventlog defines the store for the events of resumable streams. The store keeps the
// frames of a stream for a while, numbered in order. A client that lost its connection can then ask
// for the frames that it missed (2025-03-26 to 2025-11-25 basic/transports "Resumability and
// Redelivery").
//
// A stream's name is a capability: anyone who knows it may read the stream. Names therefore contain
// a secret of their session.
//
// The package has only data types and the interface. Implementations are in framework/store;
// testkit/storetest tests them.
package eventlog

import (
	"context"
	"errors"
)

// ErrExpired means that some of the requested events are no longer kept, or that the stream is
// unknown.
var ErrExpired = errors.New("eventlog: expired")

// Event is one frame of a stream. The frame may be empty, and the store attaches no meaning to
// that.
type Event struct {
	Seq   uint64 // 1 for the first event of a stream, and one more for each further event
	Frame []byte
}

// Store keeps streams. It is safe for concurrent use. It does not retain slices of its callers, and
// does not return them to others. To stay within its bounds, a store may drop the oldest events of
// a stream, or whole streams, but never silently. After then returns ErrExpired.
//
// A stream that has lost events continues its numbers until Drop, or for a day at least. If it began at
// 1 again, a client could mistake new events for events that it has seen.
//
// Its methods are atomic with respect to each other, across all processes that share the store. A
// method sees each change that was complete before its call. Reads from a replica that may be behind
// are not enough.
//
// An operation ends soon after its context. The server gives each operation 20 seconds at most. An
// operation that returned an error may have taken effect all the same.
type Store interface {
	// Append adds an event at the end of a stream and returns its number. The first
	// Append creates the stream.
	Append(ctx context.Context, stream string, frame []byte) (seq uint64, err error)

	// After returns the events that follow number seq, oldest first. If seq is the last number, it
	// returns none. If any of the events is gone, it returns ErrExpired. Callers must not modify
	// the frames.
	After(ctx context.Context, stream string, seq uint64) ([]Event, error)

	// Drop removes a stream. Dropping an unknown stream is not an error.
	Drop(ctx context.Context, stream string) error
}
