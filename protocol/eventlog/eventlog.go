// Package eventlog defines the store for the events of resumable streams. Whatever was
// sent on a stream is kept for a while, numbered in order, so that a client whose
// connection broke can ask for what it missed (2025-03-26 to 2025-11-25
// basic/transports "Resumability and Redelivery").
//
// A stream's name is a capability: anyone who knows it may read the stream. Names
// therefore contain a secret of their session.
//
// The package has only data types and the interface. Implementations are in
// framework/store; testkit/storetest tests them.
package eventlog

import (
	"context"
	"errors"
)

// ErrExpired means that some of the events asked for are no longer kept, or that the
// stream is unknown.
var ErrExpired = errors.New("eventlog: expired")

// Event is one frame of a stream. The frame may be empty; the store attaches no meaning
// to that.
type Event struct {
	Seq   uint64 // 1 for the first event of a stream, and one more for each further event
	Frame []byte
}

// Store keeps streams. It is safe for concurrent use, and neither retains slices of its
// callers nor returns them to others. To stay within its bounds, a store may drop the
// oldest events of a stream, or whole streams, but never silently: After then returns
// ErrExpired.
type Store interface {
	// Append adds an event at the end of a stream and returns its number. The first
	// Append creates the stream.
	Append(ctx context.Context, stream string, frame []byte) (seq uint64, err error)

	// After returns the events that follow number seq, oldest first; none if seq is
	// the last. The error is ErrExpired if any of them is gone. Callers must not
	// modify the frames.
	After(ctx context.Context, stream string, seq uint64) ([]Event, error)

	// Drop removes a stream. Dropping an unknown stream is not an error.
	Drop(ctx context.Context, stream string) error
}
