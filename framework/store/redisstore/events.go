package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/kagami-mcp/kagami/protocol/eventlog"
)

var (
	eventAppend = newScript("event_append")
	eventAfter  = newScript("event_after")
)

// numberLife is how much longer the number of a stream is kept than its events.
const numberLife = 24 * time.Hour

// events is the eventlog.Store. For each stream there is a hash of frames, and a counter that lives
// longer.
type events struct {
	store  *Store
	bounds eventBounds
}

func streamBinding(name string) []byte { return binding("event", name) }

// Append copies the frame.
func (e *events) Append(ctx context.Context, stream string, frame []byte) (uint64, error) {
	kept := e.store.box.seal(frame, streamBinding(stream))
	seq, err := e.store.run(ctx, eventAppend, e.store.streamKeys(stream),
		kept, len(frame), len(kept)-len(frame), e.bounds.events, e.bounds.bytes, millis(e.bounds.ttl), millis(e.bounds.ttl+numberLife)).Uint64()
	if err != nil {
		return 0, failed("appending an event", err)
	}
	return seq, nil
}

// After reads all events atomically.
func (e *events) After(ctx context.Context, stream string, seq uint64) ([]eventlog.Event, error) {
	reply, err := e.store.run(ctx, eventAfter, e.store.streamKeys(stream), strconv.FormatUint(seq, 10)).Result()
	if err != nil {
		return nil, failed("reading events", err)
	}
	frames, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("redisstore: reading the events after %d: %w", seq, eventlog.ErrExpired)
	}
	if len(frames) == 0 {
		return nil, nil
	}
	out, where := make([]eventlog.Event, len(frames)), streamBinding(stream)
	for i, kept := range frames {
		held, _ := kept.(string)
		frame, err := e.store.box.open(held, where)
		if err != nil { // the frame will never become readable, so a client must not wait for it
			return nil, failed("reading events", fmt.Errorf("%w: %w", eventlog.ErrExpired, err))
		}
		out[i] = eventlog.Event{Seq: seq + uint64(i) + 1, Frame: frame}
	}
	return out, nil
}

// Drop also deletes the stream's number.
func (e *events) Drop(ctx context.Context, stream string) error {
	if err := e.store.client.Del(ctx, e.store.streamKeys(stream)...).Err(); err != nil {
		return failed("dropping a stream", err)
	}
	return nil
}
