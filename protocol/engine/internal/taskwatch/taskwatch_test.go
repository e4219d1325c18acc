package taskwatch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol/engine/internal/taskwatch"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// TestWatches: each change wakes those who wait, and a question is asked by one request at a time.
func TestWatches(t *testing.T) {
	t.Parallel()
	var s taskwatch.Watches
	s.Wake("a") // nothing watches it
	first, second := s.Watch("a"), s.Watch("a")
	changed, questions := s.Next("a"), []task.Question{{Key: "1"}, {Key: "2"}}
	withdrawn := 0
	claim := func(turn int, q ...task.Question) int {
		return len(s.Claim("a", turn, q, func() { withdrawn += turn }))
	}
	if n, again := claim(first, questions...), claim(first, questions...); n != 2 || again != 0 {
		t.Errorf("claimed %d, and again %d", n, again)
	}
	if n := claim(second, questions[0]); n != 1 || withdrawn != first {
		t.Errorf("a later request claimed %d, and %d withdrew", n, withdrawn)
	}
	if n := claim(first, questions...); n != 0 {
		t.Errorf("the earlier request claimed %d", n)
	}
	s.Release("a", first, "1")
	select {
	case <-changed:
		t.Error("the earlier request released what it does not have")
	default:
	}
	s.Release("a", second, "1")
	<-changed
	if n := claim(first, questions...); n != 1 {
		t.Errorf("claimed %d, want the released question", n)
	}
	select {
	case <-s.Next("a"):
		t.Error("it is changed, but nothing woke it")
	default:
	}
	s.Unwatch("a")
	if ids := s.IDs(); len(ids) != 1 {
		t.Errorf("watched: %q, want a, which one request still watches", ids)
	}
	s.Unwatch("a")
	if ids := s.IDs(); len(ids) != 0 {
		t.Errorf("watched: %q", ids)
	}
}

// TestUnreadable: each task is counted once, as long as there are not too many.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	var u taskwatch.Unreadable
	if a, b, again := u.First("a"), u.First("b"), u.First("a"); a != 1 || b != 2 || again != 0 {
		t.Errorf("got %d, %d, %d", a, b, again)
	}
	for i := range 1024 {
		u.First(fmt.Sprint(i))
	}
	if n := u.First("a"); n != 1027 {
		t.Errorf("got %d, want the forgotten task counted once more", n)
	}
}

// TestForeign checks that the time of a task begins when the task is first seen, and begins again
// if the task was not seen for long. A task above the limit waits until others are forgotten.
func TestForeign(t *testing.T) {
	t.Parallel()
	var f taskwatch.Foreign
	begun := time.Now()
	met := func(id string, after time.Duration) time.Duration { return f.Since(id, begun.Add(after)) }
	const minute, hour = time.Minute, time.Hour
	for _, tt := range []struct{ at, want time.Duration }{
		{0, 0}, {minute, minute}, {4 * minute, 4 * minute}, {8 * minute, 8 * minute}, // seen every few minutes
		{13 * minute, 0}, {14 * minute, minute},
	} {
		if got := met("a", tt.at); got != tt.want {
			t.Errorf("after %v it is known for %v, want %v", tt.at, got, tt.want)
		}
	}
	for i := range 1024 {
		met(fmt.Sprint(i), hour)
	}
	met("late", hour)
	if early, late := met("1", hour+minute), met("late", hour+minute); early != minute || late != 0 {
		t.Errorf("known for %v, and the task above the limit for %v", early, late)
	}
	if met("late", 2*hour); met("late", 2*hour+minute) != minute {
		t.Error("the task above the limit is not known when the others are forgotten")
	}
}
