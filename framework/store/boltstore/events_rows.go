package boltstore

import (
	"bytes"

	"go.etcd.io/bbolt"
)

// eventRows are the events in a transaction. Of counts, gone and goneSize are the
// emptied streams, sums the others.
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

// take is the stream of that name, which has no turn then.
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

// place gives a stream that has no turn the last one.
func (x *eventRows) place(s *stream) {
	x.counts.bytes += s.cost()
	if s.emptied = s.count() == 0; s.emptied {
		s.turn = x.emptied.next()
		x.emptied.put(appendNumber(nil, s.turn), s.name)
		x.counts.gone++
		x.counts.goneSize += s.cost()
	} else {
		s.turn = x.kept.next()
		x.kept.put(s.keptKey(), s.name)
		x.sums[s.size()] += s.cost()
	}
	x.streams.put(s.name, s.row())
}

// remove takes the turn of a stream, before anything of it changes.
func (x *eventRows) remove(s *stream) {
	x.counts.bytes -= s.cost()
	if s.emptied {
		x.emptied.remove(appendNumber(nil, s.turn))
		x.counts.gone--
		x.counts.goneSize -= s.cost()
		return
	}
	x.kept.remove(s.keptKey())
	x.sums[s.size()] -= s.cost()
}

// push adds the frame, and drops what is over the bounds of a stream.
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

// skip keeps only the number of an event.
func (x *eventRows) skip(s *stream) {
	x.drain(s)
	s.first++
	s.last++
}

func (x *eventRows) framesOf(s *stream) bucket {
	return bucket{x.t, x.frames.Bucket(appendNumber(nil, s.number))}
}

// makeRoom ends: each step takes something away.
func (x *eventRows) makeRoom() {
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

// empty takes the events of a kept stream. The number stays: a stream that began at 1
// again could pass events off as others that a client has seen.
func (x *eventRows) empty(s *stream) {
	x.remove(s)
	x.drain(s)
	x.place(s)
}

// drain takes the frames of a stream that has no turn.
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
