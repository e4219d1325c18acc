package memory_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/kagami-mcp/kagami/framework/store/memory"
	"github.com/kagami-mcp/kagami/protocol/eventlog"
)

// TestModel holds a small store against one that looks at everything at each step.
func TestModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 0))
			m := &model{total: 16 * kilo, streamBytes: 3 * kilo, streamEvents: 9, streams: map[string]*modelStream{}}
			e := memory.Sized(memory.Bounds{TotalBytes: m.total, StreamBytes: m.streamBytes, StreamEvents: m.streamEvents}).Events()
			for step := range 1000 {
				name := fmt.Sprint("stream ", r.IntN(5+int(seed)*2))
				if r.IntN(20) == 0 {
					if err := e.Drop(t.Context(), name); err != nil {
						t.Fatal(err)
					}
					delete(m.streams, name)
				}
				frame := bytes.Repeat([]byte{byte(step)}, r.IntN(1<<r.IntN(12)))
				if r.IntN(50) == 0 {
					frame = make([]byte, r.IntN(20*kilo))
				}
				seq, err := e.Append(t.Context(), name, frame)
				if want := m.append(name, frame); seq != want || err != nil {
					t.Fatalf("%s: number %d, %v; want %d", name, seq, err, want)
				}
				for name, s := range m.streams {
					s.compare(t, e, name)
				}
			}
		})
	}
}

// model of a store.
type model struct {
	total, streamBytes, streamEvents int

	streams map[string]*modelStream
	turn    int
}

// modelStream has no frames if they were taken, or are no longer there.
type modelStream struct {
	name   string
	last   uint64
	frames [][]byte
	slots  int
	turn   int
}

func (s *modelStream) bytes() (n int) {
	for _, frame := range s.frames {
		n += len(frame)
	}
	return n
}

func (s *modelStream) cost() int { return 256 + len(s.name) + s.bytes() + 40*s.slots }

// size is one for all from 256 bytes on, the next from 1 KiB on, and so on.
func (s *modelStream) size() int { return (bits.Len(uint(s.cost())) - 1) / 2 }

func (s *modelStream) kept() bool { return len(s.frames) > 0 }

func (m *model) append(name string, frame []byte) uint64 {
	s := m.streams[name]
	if s == nil {
		s = &modelStream{name: name}
		m.streams[name] = s
	}
	s.last++
	m.turn++
	s.turn = m.turn
	if len(frame)+256+len(name)+4*40 > m.total {
		s.frames, s.slots = nil, 0
	} else {
		for s.kept() && (len(s.frames) == m.streamEvents || s.bytes()+len(frame) > m.streamBytes) {
			s.frames = s.frames[1:]
		}
		if s.frames = append(s.frames, frame); len(s.frames) > s.slots {
			s.slots = min(max(2*s.slots, 4), m.streamEvents)
		}
	}
	last := s.last
	m.makeRoom()
	return last
}

func (m *model) makeRoom() {
	for m.sum(func(*modelStream) bool { return true }) > m.total {
		most, size := 0, 0
		for n := range 20 {
			if sum := m.sum(func(s *modelStream) bool { return s.kept() && s.size() == n }); sum >= most {
				most, size = sum, n
			}
		}
		if s := m.oldest(func(s *modelStream) bool { return s.kept() && s.size() == size }); s != nil {
			s.frames, s.slots = nil, 0
			m.turn++
			s.turn = m.turn
			continue
		}
		delete(m.streams, m.oldest((*modelStream).emptied).name)
	}
	for m.sum((*modelStream).emptied) > m.total/8 {
		delete(m.streams, m.oldest((*modelStream).emptied).name)
	}
}

func (s *modelStream) emptied() bool { return !s.kept() }

func (m *model) sum(of func(*modelStream) bool) (n int) {
	for _, s := range m.streams {
		if of(s) {
			n += s.cost()
		}
	}
	return n
}

func (m *model) oldest(of func(*modelStream) bool) (first *modelStream) {
	for _, s := range m.streams {
		if of(s) && (first == nil || s.turn < first.turn) {
			first = s
		}
	}
	return first
}

// compare reads what the model says is kept, and what is not any more.
func (s *modelStream) compare(t *testing.T, e eventlog.Store, name string) {
	t.Helper()
	gone := s.last - uint64(len(s.frames))
	events, err := e.After(t.Context(), name, gone)
	if err != nil || len(events) != len(s.frames) {
		t.Fatalf("After(%q, %d) = %d events, %v; want %d", name, gone, len(events), err, len(s.frames))
	}
	for i, event := range events {
		if event.Seq != gone+uint64(i)+1 || !bytes.Equal(event.Frame, s.frames[i]) {
			t.Errorf("After(%q, %d): event %d is number %d, %d bytes", name, gone, i, event.Seq, len(event.Frame))
		}
	}
	if gone == 0 {
		return
	}
	if events, err := e.After(t.Context(), name, gone-1); !errors.Is(err, eventlog.ErrExpired) {
		t.Errorf("After(%q, %d) = %d events, %v; want ErrExpired", name, gone-1, len(events), err)
	}
}
