package memory

import (
	"bytes"
	"container/list"
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
	kept    list.List // of *stream, longest without a new event first
	emptied list.List // of *stream that lost their events to the total, oldest first
	bytes   int       // of everything, bookkeeping included
	numbers int       // of these, by emptied streams
}

// Append copies the frame.
func (e *events) Append(_ context.Context, name string, frame []byte) (uint64, error) {
	frame = slices.Clip(bytes.Clone(frame))
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.latest(name)
	if len(frame) > e.bounds.totalBytes-newStreamCost(name) {
		s.last++
		e.empty(s) // the others need not go for what cannot be kept
	} else {
		before := s.cost()
		s.push(frame, &e.bounds)
		e.bytes += s.cost() - before
	}
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

// latest is the stream of that name, now the one that has a new event.
func (e *events) latest(name string) *stream {
	s := e.streams[name]
	switch {
	case s == nil:
		if e.streams == nil {
			e.streams = make(map[string]*stream)
		}
		s = &stream{name: name}
		e.streams[name] = s
		e.bytes += s.cost()
	case s.emptied:
		e.emptied.Remove(s.place)
		e.numbers -= s.cost()
		s.emptied = false
	default:
		e.kept.MoveToBack(s.place)
		return s
	}
	s.place = e.kept.PushBack(s)
	return s
}

// makeRoom ends: each step takes something away.
func (e *events) makeRoom() {
	for e.bytes > e.bounds.totalBytes {
		if oldest := e.kept.Front(); oldest != nil {
			e.empty(oldest.Value.(*stream))
			continue
		}
		e.forget(e.emptied.Front().Value.(*stream))
	}
	for e.numbers > e.bounds.totalBytes/numbersShare {
		e.forget(e.emptied.Front().Value.(*stream))
	}
}

// empty takes the events of a kept stream. The number stays: a stream that began
// at 1 again could pass events off as others that a client has seen.
func (e *events) empty(s *stream) {
	e.kept.Remove(s.place)
	e.bytes -= s.cost()
	s.ring, s.head, s.count, s.bytes, s.emptied = nil, 0, 0, 0, true
	e.bytes += s.cost()
	e.numbers += s.cost()
	s.place = e.emptied.PushBack(s)
}

func (e *events) forget(s *stream) {
	if s.emptied {
		e.emptied.Remove(s.place)
		e.numbers -= s.cost()
	} else {
		e.kept.Remove(s.place)
	}
	e.bytes -= s.cost()
	delete(e.streams, s.name)
}
