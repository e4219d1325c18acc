package boltstore

import (
	"bytes"

	"go.etcd.io/bbolt"
)

// eventRows gives access to the events in a transaction. In counts, gone and goneSize count the
// emptied streams; sums has the sizes of all other streams.
//
// It belongs to one transaction, in one goroutine. A stream that findStream returns has copied its
// fields, except its name, which is the key of the caller. The row in the file is stale from remove
// or take until place.
type eventRows struct {
	t           *txn
	most        *settings
	counts, was counts
	sums, were  sums

	streams, kept, emptied bucket
	frames                 *bbolt.Bucket
}

// eventsIn opens the events in a transaction. A writer calls save at the end.
func eventsIn(t *txn, most *settings) *eventRows {
	c, b := t.counts(streamsName), t.sums()
	return &eventRows{
		t: t, most: most, counts: c, was: c, sums: b, were: b,
		streams: t.bucket(streamsName), kept: t.bucket(keptName), emptied: t.bucket(emptiedName),
		frames: t.tx.Bucket([]byte(framesName)),
	}
}

// save writes the totals, if they have changed. It is the last step of a transaction.
func (x *eventRows) save() {
	x.t.setCounts(streamsName, x.counts, x.was)
	x.t.setSums(x.sums, x.were)
}

// take returns the stream with the name and takes it out of its queue. If there is none, it creates
// one. The caller calls enqueue afterwards.
func (x *eventRows) take(key []byte) *stream {
	if s := findStream(x.streams, key); s != nil {
		x.remove(s)
		return s
	}
	s := &stream{name: key, number: x.streams.next(), first: 1}
	_, err := x.frames.CreateBucket(appendNumber(nil, s.number))
	x.t.check(err)
	x.counts.rows++
	return s
}

// enqueue puts a stream that take has returned at the end of its queue.
func (x *eventRows) enqueue(s *stream) {
	x.counts.bytes += s.cost()
	if s.emptied = s.count() == 0; s.emptied {
		s.order = x.emptied.next()
		x.emptied.put(appendNumber(nil, s.order), s.name)
		x.counts.gone++
		x.counts.goneSize += s.cost()
	} else {
		s.order = x.kept.next()
		x.kept.put(s.keptKey(), s.name)
		x.sums[s.size()] += s.cost()
	}
	x.streams.put(s.name, s.row())
}

// remove takes a stream out of its queue. The caller must not have changed the stream before.
func (x *eventRows) remove(s *stream) {
	x.counts.bytes -= s.cost()
	if s.emptied {
		x.emptied.remove(appendNumber(nil, s.order))
		x.counts.gone--
		x.counts.goneSize -= s.cost()
		return
	}
	x.kept.remove(s.keptKey())
	x.sums[s.size()] -= s.cost()
}

// push adds the frame, and drops the oldest frames as far as the bounds of a stream require it.
func (x *eventRows) push(s *stream, frame []byte) {
	b := x.framesOf(s)
	s.last++
	b.b.FillPercent = 0.9 // the numbers rise
	b.put(appendNumber(nil, s.last), frame)
	s.bytes += len(frame)
	for s.count() > x.most.StreamEvents || s.bytes > x.most.StreamBytes && s.count() > 1 {
		k, v := b.first()
		s.bytes -= len(v)
		s.first++
		b.remove(bytes.Clone(k))
	}
}

// skip counts an event without keeping it, and removes all earlier events.
func (x *eventRows) skip(s *stream) {
	x.drain(s)
	s.first++
	s.last++
}

// framesOf returns the bucket of the stream's frames. It is not valid any more after drain or
// removeFrames.
func (x *eventRows) framesOf(s *stream) bucket {
	return bucket{x.t, x.frames.Bucket(appendNumber(nil, s.number))}
}

// makeSpace evicts streams until the bounds are met. It terminates, because each step frees space.
func (x *eventRows) makeSpace() {
	for x.counts.bytes > x.most.TotalBytes {
		if size := x.sums.largest(); x.sums[size] > 0 {
			_, name := x.kept.b.Cursor().Seek([]byte{byte(size)})
			x.empty(findStream(x.streams, bytes.Clone(name)))
			continue
		}
		x.forgetOldest()
	}
	for x.counts.goneSize > x.most.TotalBytes/numbersShare {
		x.forgetOldest()
	}
}

// forgetOldest forgets the stream that lost its events first. There must be one.
func (x *eventRows) forgetOldest() {
	_, name := x.emptied.first()
	x.forget(findStream(x.streams, bytes.Clone(name)))
}

// empty removes the events of a kept stream. The number stays: if the stream began at 1 again, a
// client could mistake new events for events that it has seen.
func (x *eventRows) empty(s *stream) {
	x.remove(s)
	x.drain(s)
	x.enqueue(s)
}

// drain removes the frames of a stream that is not in a queue.
func (x *eventRows) drain(s *stream) {
	x.removeFrames(s)
	_, err := x.frames.CreateBucket(appendNumber(nil, s.number))
	x.t.check(err)
	s.first, s.bytes = s.last+1, 0
}

// removeFrames deletes the bucket of the stream's frames. The caller makes a new one or forgets the
// stream.
func (x *eventRows) removeFrames(s *stream) {
	x.t.wrote = true
	x.t.check(x.frames.DeleteBucket(appendNumber(nil, s.number)))
}

// forget removes a stream that is in a queue, with its frames and its number.
func (x *eventRows) forget(s *stream) {
	x.remove(s)
	x.removeFrames(s)
	x.counts.rows--
	x.streams.remove(s.name)
}
