package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/kagami-mcp/kagami/protocol/eventlog"
)

// Buckets of the events, in a file of their own.
const (
	streamsName = "streams"         // name: the stream, see stream
	keptName    = "streams.kept"    // turn: name, of those that have events
	emptiedName = "streams.emptied" // turn: name, of those that lost them to the total
	framesName  = "frames"          // number of a stream: bucket of its frames by number
)

// Bookkeeping as TotalBytes counts it: about what bbolt takes.
const (
	streamCost = 192
	frameCost  = 32
)

// numbersShare of the total may go to streams of which only the number is left.
const numbersShare = 8

// events is the eventlog.Store.
type events struct {
	file *file
	most *settings
}

// stream is what is known of a stream besides its frames.
type stream struct {
	name    []byte
	number  uint64 // never another stream's
	turn    uint64 // those that had no new event for longest have the least
	first   uint64 // event that is kept, or would be the next
	last    uint64
	bytes   int // of the frames
	emptied bool
}

func streamKey(name string) []byte { return append([]byte{'e'}, name...) }

// findStream is nil where nothing is. It keeps the key.
func findStream(streams bucket, key []byte) *stream {
	row := streams.get(key)
	if row == nil {
		return nil
	}
	return &stream{
		name: key, number: numberOf(row), turn: numberOf(row[8:]), first: numberOf(row[16:]), last: numberOf(row[24:]),
		bytes: int(numberOf(row[32:])), emptied: row[40] == 1,
	}
}

func (s *stream) row() []byte {
	var dst []byte
	for _, n := range []uint64{s.number, s.turn, s.first, s.last, uint64(s.bytes)} {
		dst = appendNumber(dst, n)
	}
	if s.emptied {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func (s *stream) count() int { return int(s.last + 1 - s.first) }

// cost has the name as often as it is in a bucket.
func (s *stream) cost() int {
	return streamCost + 2*len(s.name) + s.count()*frameCost + s.bytes
}

// Append is in the file when it returns; on the disk only with [SyncEvents].
func (e *events) Append(_ context.Context, name string, frame []byte) (seq uint64, err error) {
	if err := checkName("the name of a stream", name); err != nil {
		return 0, err
	}
	key := streamKey(name)
	err = e.file.write(func(t *txn) error {
		x := eventsIn(t, e.most)
		s := x.latest(key)
		seq = s.last + 1
		if len(frame)+frameCost+streamCost+2*len(key) > e.most.eventsInFile {
			x.skip(s) // the others need not go for what cannot be kept
		} else {
			x.push(s, frame)
		}
		x.makeRoom()
		x.save()
		return nil
	})
	return seq, err
}

// After copies the frames.
func (e *events) After(_ context.Context, name string, seq uint64) (out []eventlog.Event, err error) {
	err = e.file.view(func(t *txn) error {
		s := findStream(t.bucket(streamsName), streamKey(name))
		if s == nil || seq > s.last || seq+1 < s.first {
			return fmt.Errorf("boltstore: reading what follows event %d: %w", seq, eventlog.ErrExpired)
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

// Drop forgets the number, too.
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

// eventRows are the events in a transaction. Of counts, gone and goneSize are the
// emptied streams.
type eventRows struct {
	t           *txn
	most        *settings
	counts, was counts

	streams, kept, emptied bucket
	frames                 *bbolt.Bucket
}

func eventsIn(t *txn, most *settings) *eventRows {
	c := t.counts(streamsName)
	return &eventRows{
		t: t, most: most, counts: c, was: c,
		streams: t.bucket(streamsName), kept: t.bucket(keptName), emptied: t.bucket(emptiedName),
		frames: t.tx.Bucket([]byte(framesName)),
	}
}

func (x *eventRows) save() { x.t.setCounts(streamsName, x.counts, x.was) }

// put writes the row of a stream.
func (x *eventRows) put(s *stream) { x.streams.put(s.name, s.row()) }

// latest is the stream of that name, now the one that has a new event. Its bytes are
// counted.
func (x *eventRows) latest(key []byte) *stream {
	s := findStream(x.streams, key)
	switch {
	case s == nil:
		s = &stream{name: key, number: x.streams.next(), first: 1}
		_, err := x.frames.CreateBucket(appendNumber(nil, s.number))
		x.t.check(err)
		x.counts.rows++
		x.counts.bytes += s.cost()
	case s.emptied:
		x.emptied.remove(appendNumber(nil, s.turn))
		x.counts.gone--
		x.counts.goneSize -= s.cost()
		s.emptied = false
	default:
		x.kept.remove(appendNumber(nil, s.turn))
	}
	s.turn = x.kept.next()
	x.kept.put(appendNumber(nil, s.turn), s.name)
	return s
}

// skip keeps only the number of an event.
func (x *eventRows) skip(s *stream) {
	x.empty(s)
	s.first++
	s.last++
	x.put(s)
}

// push adds the frame, and drops what is over the bounds of a stream.
func (x *eventRows) push(s *stream, frame []byte) {
	before := s.cost()
	b := x.framesOf(s)
	s.last++
	b.b.FillPercent = 0.9 // the numbers rise
	b.put(appendNumber(nil, s.last), frame)
	s.bytes += len(frame)
	for s.count() > x.most.streamEvents || s.bytes > x.most.streamBytes && s.count() > 1 {
		k, v := b.first()
		s.bytes -= len(v)
		s.first++
		b.remove(bytes.Clone(k))
	}
	x.counts.bytes += s.cost() - before
	x.put(s)
}

func (x *eventRows) framesOf(s *stream) bucket {
	return bucket{x.t, x.frames.Bucket(appendNumber(nil, s.number))}
}

// makeRoom ends: each step takes something away.
func (x *eventRows) makeRoom() {
	for x.counts.bytes > x.most.eventsInFile {
		if _, name := x.kept.first(); name != nil {
			x.empty(findStream(x.streams, bytes.Clone(name)))
			continue
		}
		x.forgetOldest()
	}
	for x.counts.goneSize > x.most.eventsInFile/numbersShare {
		x.forgetOldest()
	}
}

func (x *eventRows) forgetOldest() {
	_, name := x.emptied.first()
	x.forget(findStream(x.streams, bytes.Clone(name)))
}

// empty takes the events of a kept stream. The number stays: a stream that began at 1
// again could pass events off as others that a client has seen.
func (x *eventRows) empty(s *stream) {
	x.kept.remove(appendNumber(nil, s.turn))
	x.removeFrames(s)
	_, err := x.frames.CreateBucket(appendNumber(nil, s.number))
	x.t.check(err)
	s.emptied = true
	s.turn = x.emptied.next()
	x.emptied.put(appendNumber(nil, s.turn), s.name)
	x.counts.gone++
	x.counts.goneSize += s.cost()
	x.put(s)
}

func (x *eventRows) removeFrames(s *stream) {
	x.counts.bytes -= s.cost()
	x.t.wrote = true
	x.t.check(x.frames.DeleteBucket(appendNumber(nil, s.number)))
	s.first, s.bytes = s.last+1, 0
	x.counts.bytes += s.cost()
}

func (x *eventRows) forget(s *stream) {
	if s.emptied {
		x.emptied.remove(appendNumber(nil, s.turn))
		x.counts.gone--
		x.counts.goneSize -= s.cost()
	} else {
		x.kept.remove(appendNumber(nil, s.turn))
	}
	x.removeFrames(s)
	x.counts.rows--
	x.counts.bytes -= s.cost()
	x.streams.remove(s.name)
}
