package taskwatch_test

import (
	"fmt"
	"testing"

	"github.com/kagami-mcp/kagami/protocol/engine/internal/taskwatch"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// TestWatches: each change wakes those who wait, and a question is asked by one request at a time.
func TestWatches(t *testing.T) {
	t.Parallel()
	var s taskwatch.Watches
	s.Wake("a") // nothing watches it
	s.Watch("a")
	s.Watch("a")
	changed, questions := s.Next("a"), []task.Question{{Key: "1"}, {Key: "2"}}
	if mine := s.Claim("a", questions); len(mine) != 2 || len(s.Claim("a", questions)) != 0 {
		t.Errorf("claimed %v, and again", mine)
	}
	s.Release("a", "1")
	<-changed
	if mine := s.Claim("a", questions); len(mine) != 1 || mine[0].Key != "1" {
		t.Errorf("claimed %v, want the released question", mine)
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
