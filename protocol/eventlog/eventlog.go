// Package eventlog is the port for the events of resumable streams: what was sent
// on a stream is kept for a while, under rising numbers, so that a client whose
// connection broke can ask for what it missed (2025-03-26 to 2025-11-25
// basic/transports "Resumability and Redelivery").
//
// The name of a stream says whose it is: whoever can name it may read it, so
// names hold a secret of their session. The package holds data and the interface,
// no implementation and no goroutine.
package eventlog

import (
	"context"
	"errors"
)

// ErrExpired says that events after the given number are not kept any more, or
// that nothing is known of the stream.
var ErrExpired = errors.New("eventlog: expired")

// Event is one frame of a stream. A frame may be empty: what that means is its
// writer's to say.
type Event struct {
	Seq   uint64 // 1 for the first of its stream, then one more each
	Frame []byte
}

// Store keeps streams. Safe for concurrent use. It neither keeps nor hands out a
// caller's slice. A store may forget the oldest events of a stream, and whole
// streams, to stay within its bounds; it never forgets silently: After says so.
type Store interface {
	// Append adds an event at the end of a stream, which comes into being by it.
	Append(ctx context.Context, stream string, frame []byte) (seq uint64, err error)

	// After are the events that follow number seq, oldest first; none if seq is
	// the last. ErrExpired where one of them is gone. The frames are read-only.
	After(ctx context.Context, stream string, seq uint64) ([]Event, error)

	// Drop forgets a stream; an unknown one is no error.
	Drop(ctx context.Context, stream string) error
}
