package page

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
)

// Bounds of the kept events. A browser that misses more reads the whole state again.
const (
	maxEvents     = 4096
	maxEventBytes = 8 << 20
)

// events holds the events for the browsers, in order. Each event has a number, so that a broken
// stream can continue after its last event.
//
// add appends an event and closes more, which wakes all streams; then it makes a new channel. close
// ends all streams. mu guards the fields.
type events struct {
	mu    sync.Mutex // guards the fields below
	last  int        // number of the newest event
	kept  [][]byte   // newest events as JSON; the last one has the number last
	bytes int        // total size of kept
	more  chan struct{}
	ended bool
}

func newEvents() *events { return &events{more: make(chan struct{})} }

// add appends an event. The caller must not change fields afterwards.
func (e *events) add(kind string, fields map[string]any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return
	}
	e.last++
	event := map[string]any{"seq": e.last, "kind": kind}
	maps.Copy(event, fields)
	text, err := json.Marshal(event)
	if err != nil { // a value cannot be encoded, so the browser asks for it
		text, _ = json.Marshal(map[string]any{"seq": e.last, "kind": kind})
	}
	e.kept = append(e.kept, text)
	e.bytes += len(text)
	drop := 0
	for len(e.kept)-drop > maxEvents || e.bytes > maxEventBytes && drop < len(e.kept)-1 {
		e.bytes -= len(e.kept[drop])
		e.kept[drop] = nil
		drop++
	}
	e.kept = e.kept[drop:]
	close(e.more)
	e.more = make(chan struct{})
}

// since returns the events after the number after, and how many of them are lost. more is closed
// when there is another event. ok is false after close.
func (e *events) since(after int) (found [][]byte, last, missed int, more <-chan struct{}, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := e.last - len(e.kept) + 1
	from := after + 1
	if after > e.last { // the number is from another process, before a restart
		from = e.last + 1
		missed = 1
	}
	if from < first {
		missed, from = first-from, first
	}
	return slices.Clone(e.kept[from-first:]), e.last, missed, e.more, !e.ended
}

// number returns the number of the newest event.
func (e *events) number() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}

// close ends all streams.
func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.ended {
		e.ended = true
		close(e.more)
	}
}
