package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/eventlog"
)

// EventsFull runs the suite for stores that bound the total size of all streams, in parallel. open
// returns an empty store each time, and registers its cleanup with t.Cleanup. total is the maximum
// size of the store in bytes, including its bookkeeping.
func EventsFull(t *testing.T, open func(t testing.TB, total int) eventlog.Store) {
	t.Helper()
	tests := []struct {
		name, rule string
		run        func(t *testing.T, e log)
	}{
		{"SmallAmongLarge", "Large streams, however many, do not push out small ones that take little together.", eventsSmallAmongLarge},
		{"LargeAmongSmall", "Small streams, however many, do not push out a large one.", eventsLargeAmongSmall},
		{"Any", "What was just appended can be read, small streams stay, and other streams are complete or expired.", eventsAny},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			told(t, tt.rule)
			tt.run(t, log{t, open(t, room)})
		})
	}
}

const (
	room  = 256 << 10
	large = room / 64 // size of a frame; a large stream has four of them
)

// small creates a stream of three events.
func (e log) small(name string) (frames []string) {
	e.t.Helper()
	for i := range 3 {
		frames = append(frames, fmt.Sprint(name, ", event ", i))
		e.append(name, frames[i])
	}
	return frames
}

func eventsSmallAmongLarge(t *testing.T, e log) {
	const streams = 16
	frames := make([][]string, streams)
	for i := range frames {
		frames[i] = e.small(fmt.Sprint("small ", i))
	}
	frame := strings.Repeat("x", large)
	for i := range 4 * room / large / 4 { // four times the room, one stream after the other
		for range 4 {
			e.append(fmt.Sprint("large ", i), frame)
		}
	}
	for i := range 4 * room / large { // and again, all of them in turn
		e.append(fmt.Sprint("in turn ", i%64), frame)
	}
	e.expired("large 0", 0)
	e.want("in turn 63", 3, frame)
	for i := range frames {
		name := fmt.Sprint("small ", i)
		e.want(name, 0, frames[i]...)
		if seq := e.append(name, "one more"); seq != 4 {
			t.Errorf("%s goes on with number %d", name, seq)
		}
	}
}

func eventsLargeAmongSmall(t *testing.T, e log) {
	frame := strings.Repeat("x", large)
	for range 4 {
		e.append("large", frame)
	}
	const size, streams = 500, 4 * room / 500
	for i := range streams {
		e.append(fmt.Sprint("small ", i), strings.Repeat("y", size))
	}
	e.expired("small 0", 0)
	e.want(fmt.Sprint("small ", streams-1), 0, strings.Repeat("y", size))
	e.want("large", 0, frame, frame, frame, frame)
	if seq := e.append("large", frame); seq != 5 {
		t.Errorf("the large stream goes on with number %d", seq)
	}
	e.want("large", 0, frame, frame, frame, frame, frame)
}

// eventsAny compares the store with lists that forget nothing.
func eventsAny(t *testing.T, e log) {
	const few, all = 8, 40 // number of small streams, and of all streams
	r := rand.New(rand.NewPCG(1, 2))
	lists := make([][]string, all)
	for step := range 2500 {
		i := r.IntN(all)
		name, most, size := fmt.Sprint("stream ", i), 3, r.IntN(100)
		if i >= few {
			most, size = 6, large/2+r.IntN(large)
		}
		if len(lists[i]) == most {
			if err := e.store.Drop(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			lists[i] = nil
		}
		lists[i] = append(lists[i], string(bytes.Repeat([]byte{byte(step)}, size)))
		last := uint64(len(lists[i]))
		if seq := e.append(name, lists[i][last-1]); seq != last {
			t.Fatalf("%s: number %d after %d events", name, seq, last-1)
		}
		e.want(name, last-1, lists[i][last-1])
		e.kept(fmt.Sprint("stream ", step%all), lists[step%all], step%all < few)
	}
}

// kept checks that all events of a stream are present. Unless the stream must be kept, it may also
// be expired.
func (e log) kept(name string, frames []string, must bool) {
	e.t.Helper()
	_, err := e.store.After(e.t.Context(), name, 0)
	if errors.Is(err, eventlog.ErrExpired) && (!must || len(frames) == 0) {
		return
	}
	e.want(name, 0, frames...)
}
