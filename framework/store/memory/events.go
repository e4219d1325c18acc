package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/kagami-mcp/kagami/protocol/eventlog"
)

// numbersShare of the total may go to streams of which only the number is left.
const numbersShare = 8

// events is the eventlog.Store. There is one mutex for all streams, held for a few
// steps and not for the copy of a frame: two cores that do nothing but append lose
// 30 of 100 ns to each other (BenchmarkAppend), little beside the write of the same
// frame to a network.
type events struct {
	bounds bounds

	mu      sync.Mutex // guards all below
	streams map[string]*stream
	kept    [sizes]queue // by size
	emptied queue        // lost their events to the total
	bytes   int          // of everything, bookkeeping included
}

// Append copies the frame.
func (e *events) Append(_ context.Context, name string, frame []byte) (uint64, error) {
	frame = slices.Clip(bytes.Clone(frame))
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.stream(name)
	before := s.cost()
	if len(frame) > e.bounds.totalBytes-newStreamCost(name) {
		s.skip() // the others need not go for what cannot be kept
	} else {
		s.push(frame, &e.bounds)
	}
	e.place(s, before)
	e.makeRoom()
	return s.last, nil
}

// After shares the frames with the store.
func (e *events) After(_ context.Context, name string, seq uint64) ([]eventlog.Event, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.streams[name]
	if s == nil || seq > s.last || s.last-seq > uint64(s.count) {
		return nil, fmt.Errorf("reading what follows event %d: %w", seq, eventlog.ErrExpired)
	}
	return s.newest(int(s.last - seq)), nil
}

// Drop forgets the number, too.
func (e *events) Drop(_ context.Context, name string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.streams[name]; s != nil {
		e.forget(s)
	}
	return nil
}

// stream is that of the name; a new one has no events yet.
func (e *events) stream(name string) *stream {
	s := e.streams[name]
	if s == nil {
		if e.streams == nil {
			e.streams = make(map[string]*stream)
		}
		s = &stream{name: name}
		e.streams[name] = s
		e.place(s, 0)
	}
	return s
}

// place makes a stream the last of its queue. before is what it cost in the one that it is
// in; 0: it is new.
func (e *events) place(s *stream, before int) {
	to, cost := &e.emptied, s.cost()
	if s.count > 0 {
		to = &e.kept[sizeOf(cost)]
	}
	if s.queue != nil {
		s.queue.bytes -= before
	}
	to.bytes += cost
	e.bytes += cost - before
	if s.queue == to && s.next == nil {
		return
	}
	if s.queue != nil {
		s.queue.remove(s)
	}
	to.push(s)
}

// makeRoom ends: each step takes something away.
func (e *events) makeRoom() {
	for e.bytes > e.bounds.totalBytes {
		if oldest := e.largest().first; oldest != nil {
			e.empty(oldest)
			continue
		}
		e.forget(e.emptied.first)
	}
	for e.emptied.bytes > e.bounds.totalBytes/numbersShare {
		e.forget(e.emptied.first)
	}
}

// largest are the streams of the size that takes most. It gives where there is no room: so
// large streams, and those that are many, push out one another, and what takes little
// together stays.
func (e *events) largest() *queue {
	most := &e.kept[0]
	for i := range e.kept {
		if q := &e.kept[i]; q.bytes >= most.bytes {
			most = q
		}
	}
	return most
}

// empty takes the events of a kept stream. The number stays: a stream that began
// at 1 again could pass events off as others that a client has seen.
func (e *events) empty(s *stream) {
	before := s.cost()
	s.empty()
	e.place(s, before)
}

func (e *events) forget(s *stream) {
	e.bytes -= s.cost()
	s.queue.bytes -= s.cost()
	s.queue.remove(s)
	delete(e.streams, s.name)
}
