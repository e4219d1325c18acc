package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/eventlog"
)

// Events runs the suite for an eventlog.Store, in parallel. open returns an empty store each time,
// and registers its cleanup with t.Cleanup.
func Events(t *testing.T, open func(t testing.TB) eventlog.Store) {
	t.Helper()
	tests := []struct {
		name, rule string
		run        func(t *testing.T, e log)
	}{
		{"NumbersFromOne", "The events of a stream are numbered from 1, each one more.", eventsNumbers},
		{"After", "After gives all events that follow a number, oldest first, and takes nothing away.", eventsAfter},
		{"UnknownStream", "After of an unknown stream is ErrExpired.", eventsUnknown},
		{"BeyondTheLast", "Nothing follows the last number; after one that was never given After is ErrExpired.", eventsBeyond},
		{"EmptyFrame", "An empty frame is an event as any other.", eventsEmptyFrame},
		{"AnyBytes", "Frames are any bytes.", eventsAnyBytes},
		{"AnyName", "Names are any bytes; one that contains another, or looks like it, is another.", eventsAnyName},
		{"Isolation", "Streams have nothing to do with each other.", eventsIsolation},
		{"Drop", "Drop forgets a stream; an unknown one is not an error.", eventsDrop},
		{"AppendCopies", "A store does not keep the caller's slice.", eventsAppendCopies},
		{"ReadersShareNothingGrowing", "The slice of events is the reader's: appending to it, or to a frame, changes nothing for other readers.", eventsReaders},
		{"ConcurrentStreams", "Streams that grow at the same time do not mix.", eventsConcurrentStreams},
		{"ConcurrentAppends", "Each event has a number of its own, and is found under it.", eventsConcurrentAppends},
		{"ReadWhileAppending", "A reader that goes on from the last number that it saw sees all events, each once.", eventsReadWhileAppending},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			told(t, tt.rule)
			tt.run(t, log{t, open(t)})
		})
	}
}

// log is a store that fails the test if an operation returns an error that the interface does not
// allow.
type log struct {
	t     testing.TB
	store eventlog.Store
}

// append appends a frame. It may be called in any goroutine.
func (e log) append(stream, frame string) uint64 {
	e.t.Helper()
	seq, err := e.store.Append(e.t.Context(), stream, []byte(frame))
	if err != nil {
		e.t.Errorf("Append(%q, %s): %v", stream, brief(frame), err)
	}
	return seq
}

// after reads the events after seq. It may be called in any goroutine.
func (e log) after(stream string, seq uint64) []eventlog.Event {
	e.t.Helper()
	events, err := e.store.After(e.t.Context(), stream, seq)
	if err != nil {
		e.t.Errorf("After(%q, %d): %v", stream, seq, err)
	}
	return events
}

func (e log) expired(stream string, seq uint64) {
	e.t.Helper()
	if events, err := e.store.After(e.t.Context(), stream, seq); !errors.Is(err, eventlog.ErrExpired) || len(events) > 0 {
		e.t.Errorf("After(%q, %d) = %d events, %v; want ErrExpired", stream, seq, len(events), err)
	}
}

// want compares all events after seq with the frames.
func (e log) want(stream string, seq uint64, frames ...string) {
	e.t.Helper()
	events := e.after(stream, seq)
	got := make([]string, len(events))
	for i, event := range events {
		got[i] = string(event.Frame)
		if event.Seq != seq+uint64(i)+1 {
			e.t.Errorf("After(%q, %d): event %d has number %d", stream, seq, i, event.Seq)
		}
	}
	if !slices.Equal(got, frames) {
		e.t.Errorf("After(%q, %d) = %s, want %s", stream, seq, briefs(got), briefs(frames))
	}
}

func briefs(frames []string) []string {
	out := make([]string, len(frames))
	for i, frame := range frames {
		out[i] = brief(frame)
	}
	return out
}

func eventsNumbers(t *testing.T, e log) {
	for i := range uint64(100) {
		if seq := e.append("s", "x"); seq != i+1 {
			t.Fatalf("event %d has number %d", i+1, seq)
		}
	}
	if seq := e.append("other", "x"); seq != 1 {
		t.Errorf("another stream begins with number %d", seq)
	}
}

func eventsAfter(_ *testing.T, e log) {
	frames := make([]string, 50)
	for i := range frames {
		frames[i] = fmt.Sprintf("frame %d", i+1)
		e.append("s", frames[i])
	}
	for _, seq := range []int{0, 1, 25, 49, 50} {
		e.want("s", uint64(seq), frames[seq:]...)
	}
	e.append("s", "one more")
	e.want("s", 50, "one more")
	e.want("s", 50, "one more") // reading removes nothing
}

func eventsUnknown(_ *testing.T, e log) {
	e.expired("s", 0)
	e.expired("s", 1)
	e.append("s", "x")
	e.expired("t", 0)
}

func eventsBeyond(t *testing.T, e log) {
	e.append("s", "x")
	e.want("s", 1)
	e.expired("s", 2)
	e.expired("s", 1<<63)
	e.expired("s", 1<<64-1)
	if seq := e.append("s", "y"); seq != 2 {
		t.Errorf("number %d after a read beyond the end", seq)
	}
}

// eventsEmptyFrame: an empty frame is an event like any other.
func eventsEmptyFrame(t *testing.T, e log) {
	e.append("s", "")
	if seq, err := e.store.Append(t.Context(), "s", nil); seq != 2 || err != nil {
		t.Errorf("Append of nil = %d, %v", seq, err)
	}
	e.append("s", "x")
	e.append("s", "")
	e.want("s", 0, "", "", "x", "")
	e.want("s", 1, "", "x", "")
	e.want("s", 3, "")
	e.want("s", 4)
	e.append("nothing else", "")
	e.want("nothing else", 0, "")
	e.want("nothing else", 1)
	e.expired("nothing else", 2)
}

func eventsAnyBytes(_ *testing.T, e log) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	large := string(slices.Repeat([]byte("0123456789abcdef"), 1<<16)) // 1 MiB
	e.append("s", string(all))
	e.append("s", large)
	e.want("s", 0, string(all), large)
}

// eventsAnyName uses names that a store may combine incorrectly.
func eventsAnyName(_ *testing.T, e log) {
	names := []string{"a", "a/b", "a:b", "a:b:1", "a\x00b", "a b", "A", "ä", "\xff", "*", "a*", "..", "{a}", "1"}
	for _, name := range names {
		e.append(name, "of "+name)
	}
	for _, name := range names {
		e.want(name, 0, "of "+name)
	}
}

func eventsIsolation(t *testing.T, e log) {
	for range 3 {
		e.append("a", "of a")
		e.append("b", "of b")
	}
	e.want("a", 0, "of a", "of a", "of a")
	e.want("b", 1, "of b", "of b")
	if err := e.store.Drop(t.Context(), "a"); err != nil {
		t.Errorf("Drop: %v", err)
	}
	e.want("b", 0, "of b", "of b", "of b")
	if seq := e.append("b", "x"); seq != 4 {
		t.Errorf("number %d after another stream was dropped", seq)
	}
}

func eventsDrop(t *testing.T, e log) {
	e.append("s", "x")
	e.append("s", "y")
	for range 2 { // the second time the stream is unknown
		if err := e.store.Drop(t.Context(), "s"); err != nil {
			t.Errorf("Drop: %v", err)
		}
		e.expired("s", 0)
		e.expired("s", 2)
	}
	if err := e.store.Drop(t.Context(), "never there"); err != nil {
		t.Errorf("Drop of an unknown stream: %v", err)
	}
	if seq := e.append("s", "z"); seq != 1 {
		t.Errorf("a stream begins again with number %d", seq)
	}
	e.want("s", 0, "z")
}

func eventsAppendCopies(t *testing.T, e log) {
	buffer := []byte("first")
	if _, err := e.store.Append(t.Context(), "s", buffer); err != nil {
		t.Fatal(err)
	}
	copy(buffer, "XXXXX")
	e.want("s", 0, "first")
}

// eventsReaders: frames are read-only, but the reader owns the slice of events. Appending to a
// frame must not change what other readers see.
func eventsReaders(t *testing.T, e log) {
	e.append("s", "one")
	e.append("s", "two")
	events := e.after("s", 0)
	if len(events) != 2 {
		t.Fatalf("%d events", len(events))
	}
	_ = append(events[0].Frame, "XXXXXXXX"...)
	events[0], events[1] = eventlog.Event{}, eventlog.Event{}
	e.want("s", 0, "one", "two")
}

func eventsConcurrentStreams(t *testing.T, e log) {
	const streams, each = 8, 100
	var all sync.WaitGroup
	for i := range streams {
		all.Go(func() {
			name := fmt.Sprint("stream ", i)
			for n := range uint64(each) {
				if seq := e.append(name, fmt.Sprint(name, n)); seq != n+1 {
					t.Errorf("%s: event %d has number %d", name, n+1, seq)
				}
			}
			if i%2 == 0 {
				return
			}
			if err := e.store.Drop(t.Context(), name); err != nil {
				t.Errorf("Drop: %v", err)
			}
		})
	}
	all.Wait()
	for i := range streams {
		name := fmt.Sprint("stream ", i)
		if i%2 == 1 {
			e.expired(name, 0)
			continue
		}
		frames := make([]string, each)
		for n := range frames {
			frames[n] = fmt.Sprint(name, n)
		}
		e.want(name, 0, frames...)
	}
}

// eventsConcurrentAppends: each event has its own number, and is found under it.
func eventsConcurrentAppends(t *testing.T, e log) {
	const writers, each = 8, 100
	var (
		mu    sync.Mutex // guards frame
		frame = map[uint64]string{}
		all   sync.WaitGroup
	)
	for w := range writers {
		all.Go(func() {
			var last uint64
			for n := range each {
				text := fmt.Sprint(w, " ", n)
				seq := e.append("s", text)
				if seq <= last {
					t.Errorf("number %d after %d", seq, last)
				}
				last = seq
				mu.Lock()
				frame[seq] = text
				mu.Unlock()
			}
		})
	}
	all.Wait()
	events := e.after("s", 0)
	if len(events) != writers*each || len(frame) != writers*each {
		t.Fatalf("%d events under %d numbers, want %d", len(events), len(frame), writers*each)
	}
	for _, event := range events {
		if string(event.Frame) != frame[event.Seq] {
			t.Errorf("number %d is %q, appended was %q", event.Seq, event.Frame, frame[event.Seq])
		}
	}
}

// eventsReadWhileAppending: a reader that continues after the last number it saw reads all events,
// each once.
func eventsReadWhileAppending(_ *testing.T, e log) {
	const total = 500
	e.append("s", "1")
	var (
		all     sync.WaitGroup
		written atomic.Bool
	)
	all.Go(func() {
		defer written.Store(true)
		for n := 2; n <= total; n++ {
			e.append("s", fmt.Sprint(n))
		}
	})
	for range 3 {
		all.Go(func() { e.readAll("s", total, &written) })
	}
	all.Wait()
}

// readAll reads a stream until it has total events. written is set after the last event was appended.
func (e log) readAll(stream string, total uint64, written *atomic.Bool) {
	e.t.Helper()
	var seen uint64
	for seen < total && !e.t.Failed() {
		last := written.Load() // before the read, which then has all events
		events := e.after(stream, seen)
		if n := seen + uint64(len(events)); last && n < total {
			e.t.Errorf("%d of %d events", n, total)
		}
		for _, event := range events {
			seen++
			if event.Seq != seen || string(event.Frame) != fmt.Sprint(seen) {
				e.t.Errorf("event %d is number %d, %q", seen, event.Seq, event.Frame)
				return
			}
		}
	}
}
