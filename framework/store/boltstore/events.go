package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/kagami-mcp/kagami/protocol/eventlog"
)

// Buckets of the events, in a file of their own. Each comment gives key and value.
const (
	streamsName = "streams"         // name: the stream, see stream
	keptName    = "streams.kept"    // size and order: name; streams that have events
	emptiedName = "streams.emptied" // order: name; streams that lost their events to the total bound
	framesName  = "frames"          // number of a stream: bucket of its frames by number
)

// Bookkeeping that counts toward TotalBytes. It is about the space that bbolt uses.
const (
	streamCost = 192
	frameCost  = 32
)

// numbersShare: a total of TotalBytes divided by numbersShare may be used by streams without
// events. Only their number is kept.
const numbersShare = 8

// events is the eventlog.Store. It has a file of its own, which is synced only with SyncEvents.
type events struct {
	file *file
	most *settings
}

// stream is the row of a stream. The frames are in a bucket of their own.
type stream struct {
	name    []byte
	number  uint64 // no other stream ever has it
	order   uint64 // the stream without a new event for the longest time has the lowest
	first   uint64 // number of the oldest kept event; of the next event if none is kept
	last    uint64
	bytes   int // size of all frames
	emptied bool
}

func streamKey(name string) []byte { return append([]byte{'e'}, name...) }

// findStream returns the stream with the key, or nil if there is none. The stream keeps the key.
func findStream(streams bucket, key []byte) *stream {
	row := streams.get(key)
	if row == nil {
		return nil
	}
	return &stream{
		name: key, number: numberOf(row), order: numberOf(row[8:]), first: numberOf(row[16:]), last: numberOf(row[24:]),
		bytes: int(numberOf(row[32:])), emptied: row[40] == 1,
	}
}

func (s *stream) row() []byte {
	dst := make([]byte, 0, 5*8+1)
	for _, n := range []uint64{s.number, s.order, s.first, s.last, uint64(s.bytes)} {
		dst = appendNumber(dst, n)
	}
	if s.emptied {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func (s *stream) count() int { return int(s.last + 1 - s.first) }

// cost returns the size of a stream with its frames. It counts the name twice, because two buckets
// contain it.
func (s *stream) cost() int {
	return streamCost + 2*len(s.name) + s.count()*frameCost + s.bytes
}

// Append returns after the event is in the file. It is on the disk only with [SyncEvents].
func (e *events) Append(_ context.Context, name string, frame []byte) (seq uint64, err error) {
	if err := checkName("the name of a stream", name); err != nil {
		return 0, err
	}
	key := streamKey(name)
	err = e.file.write(func(t *txn) error {
		x := eventsIn(t, e.most)
		s := x.take(key)
		seq = s.last + 1
		if len(frame)+frameCost+streamCost+2*len(key) > e.most.TotalBytes {
			x.skip(s) // other streams need not be evicted for a frame that cannot be kept
		} else {
			x.push(s, frame)
		}
		x.enqueue(s)
		x.makeSpace()
		x.save()
		return nil
	})
	return seq, err
}

// After returns copies of the frames.
func (e *events) After(_ context.Context, name string, seq uint64) (out []eventlog.Event, err error) {
	err = e.file.view(func(t *txn) error {
		s := findStream(t.bucket(streamsName), streamKey(name))
		if s == nil || seq > s.last || seq+1 < s.first {
			return fmt.Errorf("boltstore: reading the events after %d: %w", seq, eventlog.ErrExpired)
		}
		if seq == s.last {
			return nil
		}
		out = make([]eventlog.Event, 0, s.last-seq)
		c := t.bucket(framesName).b.Bucket(appendNumber(nil, s.number)).Cursor()
		for k, v := c.Seek(appendNumber(nil, seq+1)); k != nil; k, v = c.Next() {
			out = append(out, eventlog.Event{Seq: binary.BigEndian.Uint64(k), Frame: bytes.Clone(v)})
		}
		return nil
	})
	return out, err
}

// Drop also forgets the stream's number.
func (e *events) Drop(_ context.Context, name string) error {
	key := streamKey(name)
	return e.file.write(func(t *txn) error {
		x := eventsIn(t, e.most)
		if s := findStream(x.streams, key); s != nil {
			x.forget(s)
			x.save()
		}
		return nil
	})
}
