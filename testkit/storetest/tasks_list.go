package storetest

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// shuffled returns n IDs. Their alphabetical order is not the order of their creation.
func shuffled(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%03d", i*37%101) // 101 is prime, so n may be up to 101
	}
	return out
}

func tasksList(t *testing.T, s tasks) {
	s.wantList("x", "", 9)
	s.wantList("x", "never", 9)
	all := shuffled(50)
	s.fill("x", all...)
	for _, limit := range []int{1, 2, 3, 7, 10, 25, 49, 50, 51, math.MaxInt} {
		var got []string
		for after := ""; ; {
			page := ids(s.list("x", after, limit))
			got = append(got, page...)
			if len(page) < limit || len(got) > len(all) {
				break
			}
			after = page[len(page)-1]
		}
		if !slices.Equal(got, all) {
			t.Errorf("in pages of %d: %q, want %q", limit, got, all)
		}
	}
	for i, id := range all {
		s.wantList("x", id, 3, all[i+1:min(i+4, len(all))]...)
	}
	r := s.rich("rich")
	s.create(r)
	s.want(r)
}

// tasksListOrder: neither the times nor later updates matter.
func tasksListOrder(_ *testing.T, s tasks) {
	all, now := shuffled(20), s.now()
	for i, id := range all {
		r := s.record(id, "x")
		r.Created = now.Add(-time.Duration(i/2) * time.Second) // the clock jumps back, or stands still
		r.Updated = now
		s.create(r)
	}
	s.wantList("x", "", 99, all...)
	for i := len(all) - 1; i >= 0; i -= 3 {
		s.change(all[i], func(r *task.Record) { r.Status, r.Updated = protocol.TaskFailed, now.Add(time.Hour) })
	}
	s.wantList("x", "", 99, all...)
	s.wantList("x", all[9], 99, all[10:]...)
}

func tasksListLimits(_ *testing.T, s tasks) {
	s.fill("x", "a", "b")
	for _, limit := range []int{0, -1, math.MinInt} {
		s.wantList("x", "", limit)
		s.wantList("x", "a", limit)
	}
	for _, limit := range []int{2, 3, math.MaxInt32, math.MaxInt} {
		s.wantList("x", "", limit, "a", "b")
		s.wantList("x", "a", limit, "b")
		s.wantList("x", "b", limit)
	}
}

// tasksListOwners: a list contains no tasks of other owners, and their IDs are unknown to it.
func tasksListOwners(_ *testing.T, s tasks) {
	owners := []string{"", "x", "X", "x/", "x:1", "x\x00", "xx", "*", "x*"}
	for i := range 5 {
		for _, owner := range owners {
			s.fill(owner, fmt.Sprintf("%d of %s", i, owner))
		}
	}
	for _, owner := range owners {
		want := make([]string, 5)
		for i := range want {
			want[i] = fmt.Sprintf("%d of %s", i, owner)
		}
		s.wantList(owner, "", 99, want...)
		s.wantList(owner, want[1], 2, want[2:4]...)
		s.wantCount(owner, 5)
		for _, other := range owners {
			if other != owner {
				s.wantList(owner, "1 of "+other, 99)
			}
		}
	}
	s.wantList("nobody", "", 9)
	s.wantList("nobody", "1 of x", 9)
	s.wantCount("nobody", 0)
}

func tasksListGone(_ *testing.T, s tasks) {
	all := shuffled(30)
	s.fill("x", all...)
	s.fill("y", "y")
	s.remove(all[4], all[5], all[6], all[10], all[0], all[29])
	for _, gone := range []int{4, 5, 6} {
		s.wantList("x", all[gone], 3, all[7:10]...)
	}
	s.wantList("x", all[3], 3, all[7:10]...)
	s.wantList("x", all[10], 2, all[11:13]...)
	s.wantList("x", all[0], 2, all[1:3]...)
	s.wantList("x", all[29], 2)
	s.wantList("y", all[10], 2) // all[10] belongs to another owner
	s.fill("x", "new")
	s.wantList("x", all[29], 2, "new")
	s.remove(all[1:29]...)
	for _, gone := range all {
		s.wantList("x", gone, 9, "new")
	}
	s.remove("new")
	s.wantList("x", all[15], 9)
	s.fill("x", "newer")
	s.wantList("x", all[15], 9, "newer")
	s.wantList("x", "new", 9, "newer")
}

// tasksListChanges: a list that is read page by page while tasks come and go contains each
// remaining task exactly once.
func tasksListChanges(t *testing.T, s tasks) {
	all := shuffled(60)
	s.fill("x", all...)
	var got []string
	for after, i := "", 0; ; i++ {
		page := ids(s.list("x", after, 7))
		got = append(got, page...)
		if len(page) == 0 || i > len(all) {
			break
		}
		after = page[len(page)-1]
		s.remove(after, page[0], all[59-i])
		if len(page) > 2 {
			s.change(page[1], func(r *task.Record) { r.Status = protocol.TaskCompleted })
		}
		if i < 5 {
			s.fill("x", fmt.Sprint("new ", i))
		}
	}
	want := slices.Concat(all[:53], []string{"new 0", "new 1", "new 2", "new 3", "new 4"})
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}

func tasksCount(_ *testing.T, s tasks) {
	s.wantCount("x", 0)
	s.fill("x", "a", "b", "c", "d")
	s.fill("y", "e")
	ended := s.record("f", "x")
	ended.Status = protocol.TaskCompleted
	s.create(ended)
	s.wantCount("x", 4)
	left := 4
	for id, status := range map[string]protocol.TaskStatus{
		"a": protocol.TaskCompleted, "b": protocol.TaskFailed, "c": protocol.TaskCancelled,
	} {
		s.change(id, func(r *task.Record) { r.Status = protocol.TaskInputRequired })
		s.wantCount("x", left)
		s.change(id, func(r *task.Record) { r.Status = status })
		left--
		s.wantCount("x", left)
		s.change(id, func(r *task.Record) { r.Message = "it stays so" })
		s.wantCount("x", left)
	}
	s.change("a", func(r *task.Record) { r.Status = protocol.TaskWorking }) // the store does not check the transition
	s.wantCount("x", 2)
	s.change("a", func(r *task.Record) { r.Status = protocol.TaskFailed })
	s.remove("a") // it was not counted
	s.wantCount("x", 1)
	s.remove("d")
	s.wantCount("x", 0)
	s.wantCount("y", 1)
	s.wantList("x", "", 9, "b", "c", "f")
}
