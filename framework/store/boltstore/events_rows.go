package boltstore

import (
	"bytes"

	"go.etcd.io/bbolt"
)

// eventRows gives access to the events in a transaction. In counts, gone and goneSize count the
// emptied streams; sums has the sizes of all other streams.
type eventRows struct {
	t           *txn
	most        *settings
	counts, was counts
	sums, were  sums

	streams, kept, emptied bucket
	frames                 *bbolt.Bucket
}

func eventsIn(t *txn, most *settings) *eventRows {
	c, b := t.counts(streamsName), t.sums()
	return &eventRows{
		t: t, most: most, counts: c, was: c, sums: b, were: b,
		streams: t.bucket(streamsName), kept: t.bucket(keptName), emptied: t.bucket(emptiedName),
		frames: t.tx.Bucket([]byte(framesName)),
	}
}

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
	for s.count() > x.most.streamEvents || s.bytes > x.most.streamBytes && s.count() > 1 {
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

func (x *eventRows) framesOf(s *stream) bucket {
	return bucket{x.t, x.frames.Bucket(appendNumber(nil, s.number))}
}

// makeSpace evicts streams until the bounds are met. It terminates, because each step frees space.
func (x *eventRows) makeSpace() {
	for x.counts.bytes > x.most.eventsInFile {
		if size := x.sums.largest(); x.sums[size] > 0 {
			_, name := x.kept.b.Cursor().Seek([]byte{byte(size)})
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

func (x *eventRows) removeFrames(s *stream) {
	x.t.wrote = true
	x.t.check(x.frames.DeleteBucket(appendNumber(nil, s.number)))
}

func (x *eventRows) forget(s *stream) {
	x.remove(s)
	x.removeFrames(s)
	x.counts.rows--
	x.streams.remove(s.name)
}
