package memory_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
	"github.com/kagami-mcp/kagami/testkit/storetest"
)

func TestEvents(t *testing.T) {
	t.Parallel()
	storetest.Events(t, func(testing.TB) eventlog.Store { return memory.New().Events() })
}

func TestEventsFull(t *testing.T) {
	t.Parallel()
	storetest.EventsFull(t, func(_ testing.TB, total int) eventlog.Store {
		return memory.Sized(memory.Bounds{TotalBytes: total}).Events()
	})
}

func TestOnePort(t *testing.T) {
	t.Parallel()
	s := memory.New()
	add(t, s, "s", "x")
	if got := read(t, s.Events(), "s", 0); len(got) != 1 {
		t.Errorf("%d events: each call of Events has a store of its own", len(got))
	}
}

// add appends and returns the number.
func add(t testing.TB, s *memory.Store, stream, frame string) uint64 {
	t.Helper()
	seq, err := s.Events().Append(t.Context(), stream, []byte(frame))
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

func read(t testing.TB, e eventlog.Store, stream string, seq uint64) []eventlog.Event {
	t.Helper()
	events, err := e.After(t.Context(), stream, seq)
	if err != nil {
		t.Errorf("After(%q, %d): %v", stream, seq, err)
	}
	return events
}

// keeps says that exactly the events from number first to last can be read.
func keeps(t testing.TB, s *memory.Store, stream string, first, last uint64) {
	t.Helper()
	for seq := range last + 1 {
		events, err := s.Events().After(t.Context(), stream, seq)
		switch {
		case seq+1 < first:
			if !errors.Is(err, eventlog.ErrExpired) {
				t.Errorf("After(%q, %d) = %d events, %v; want ErrExpired", stream, seq, len(events), err)
			}
		case err != nil || uint64(len(events)) != last-seq:
			t.Errorf("After(%q, %d) = %d events, %v; want %d", stream, seq, len(events), err, last-seq)
		}
	}
}

func TestStreamEvents(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 2, 3, 4, 5, 7, 8, 100} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			t.Parallel()
			s := memory.Sized(memory.Bounds{StreamEvents: most})
			for i := range uint64(40) {
				last := add(t, s, "s", fmt.Sprint(i+1))
				if last != i+1 {
					t.Fatalf("number %d after %d events", last, i)
				}
				keeps(t, s, "s", uint64(max(int(last)-most, 0))+1, last)
			}
			for _, event := range read(t, s.Events(), "s", 40-uint64(min(most, 40))) {
				if string(event.Frame) != fmt.Sprint(event.Seq) {
					t.Errorf("number %d is %q", event.Seq, event.Frame)
				}
			}
		})
	}
}

func TestStreamBytes(t *testing.T) {
	t.Parallel()
	s := memory.Sized(memory.Bounds{StreamBytes: 10})
	steps := []struct {
		frame string
		first uint64 // kept
	}{
		{"1234", 1},
		{"567890", 1}, // just full
		{"", 1},       // takes nothing
		{"x", 2},
		{"123", 2}, // just full
		{"12345678", 6},
		{"larger than all", 7}, // alone
		{"", 8},
		{"1234567890", 8},
		{"1", 10},
	}
	for i, step := range steps {
		last := add(t, s, "s", step.frame)
		if last != uint64(i+1) {
			t.Fatalf("step %d has number %d", i+1, last)
		}
		keeps(t, s, "s", step.first, last)
	}
	keeps(t, s, "s", 10, 10)
	add(t, s, "other", "1234567890") // has bounds of its own
	keeps(t, s, "s", 10, 10)
}

func TestBoundsBelowOne(t *testing.T) {
	t.Parallel()
	s := memory.Sized(memory.Bounds{StreamEvents: -1, StreamBytes: -1})
	add(t, s, "s", "x")
	add(t, s, "s", "y")
	keeps(t, s, "s", 2, 2)
	none := memory.Sized(memory.Bounds{TotalBytes: -1})
	add(t, none, "s", "x")
	if _, err := none.Events().After(t.Context(), "s", 0); !errors.Is(err, eventlog.ErrExpired) {
		t.Errorf("kept without room: %v", err)
	}
}

const kilo = 1 << 10

// Of streams of one size, that which was longest without a new event loses its events
// first, and goes on counting where it was.
func TestTotalBytes(t *testing.T) {
	t.Parallel()
	s := memory.Sized(memory.Bounds{TotalBytes: 40 * kilo})
	frame := string(make([]byte, 10*kilo))
	for _, stream := range []string{"a", "b", "c"} { // more do not fit
		add(t, s, stream, frame)
	}
	add(t, s, "a", "x")
	add(t, s, "d", frame)
	keeps(t, s, "b", 2, 1)
	keeps(t, s, "c", 1, 1)
	keeps(t, s, "a", 1, 2)
	keeps(t, s, "d", 1, 1)
	if seq := add(t, s, "b", frame); seq != 2 {
		t.Errorf("a stream that lost its events goes on with %d", seq)
	}
	keeps(t, s, "b", 2, 2)
	keeps(t, s, "c", 2, 1)
	read(t, s.Events(), "a", 0) // a reader does not make a stream young
	add(t, s, "e", frame)
	keeps(t, s, "a", 3, 2)
	keeps(t, s, "d", 1, 1)
	if err := s.Events().Drop(t.Context(), "c"); err != nil { // which has no events any more
		t.Fatal(err)
	}
	if seq := add(t, s, "c", "x"); seq != 1 {
		t.Errorf("a dropped stream begins anew with %d", seq)
	}
}

// An event that fits nowhere costs no other stream anything.
func TestLargerThanAll(t *testing.T) {
	t.Parallel()
	s := memory.Sized(memory.Bounds{TotalBytes: 40 * kilo})
	add(t, s, "a", "x")
	add(t, s, "b", "x")
	if seq := add(t, s, "a", string(make([]byte, 40*kilo))); seq != 2 {
		t.Errorf("it has number %d", seq)
	}
	keeps(t, s, "a", 3, 2)
	keeps(t, s, "b", 1, 1)
	add(t, s, "a", "y")
	keeps(t, s, "a", 3, 3)
}

// Empty frames and streams without events take room as well, and in the end the
// oldest numbers go. Not in parallel: it measures the heap.
func TestBookkeepingIsBounded(t *testing.T) {
	const total, streams = 1 << 20, 200_000
	before := heap()
	s := memory.Sized(memory.Bounds{TotalBytes: total})
	for i := range streams {
		add(t, s, fmt.Sprint("stream ", i), "")
	}
	used := heap() - before
	t.Logf("%d bytes in use", used)
	if used > 2*total {
		t.Errorf("%d bytes in use, the bound is %d", used, total)
	}
	if _, err := s.Events().After(t.Context(), "stream 0", 0); !errors.Is(err, eventlog.ErrExpired) {
		t.Errorf("the first stream: %v", err)
	}
	keeps(t, s, fmt.Sprint("stream ", streams-1), 1, 1)
	if seq := add(t, s, "stream 0", ""); seq != 1 {
		t.Errorf("the number of the first stream was kept: %d", seq)
	}
}

func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// Nothing is allocated for a store that is not used.
func TestNewIsSmall(t *testing.T) {
	got := testing.AllocsPerRun(100, func() {
		if memory.New().Events() == nil {
			t.Error("no port")
		}
	})
	if got > 1 {
		t.Errorf("%g allocations", got)
	}
}
