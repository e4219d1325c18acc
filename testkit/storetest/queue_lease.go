package storetest

import (
	"testing"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
)

func queueRenew(_ *testing.T, a, b line) {
	one, other := a.begin("one"), a.begin("other")
	for range 3 {
		a.renew(one)
		a.renew(other)
	}
	b.nothing()
	a.finish(other)
	a.renew(one)
	a.finish(one)
	a.lost(one)
	b.nothing()
}

func queueRenewEnded(_ *testing.T, a, b line) {
	for _, status := range []protocol.TaskStatus{protocol.TaskInputRequired, protocol.TaskCompleted, protocol.TaskFailed, protocol.TaskCancelled} {
		lease := a.begin(string(status))
		b.turn(lease.Task, status)
		a.lost(lease)
		b.nothing()
		a.release(lease)
		a.lost(lease)
	}
	lease := a.begin("deleted")
	b.remove(lease.Task)
	a.lost(lease)
	a.release(lease)
	b.nothing()
}

// queueNoLease: what nobody was given is lost.
func queueNoLease(_ *testing.T, a, b line) {
	a.fill("x", "waits")
	b.fill("x", "held")
	first, second := a.take(), a.take()
	a.release(second)
	waits, held := second.Task, first
	none := []task.Lease{
		{},
		{Task: held.Task, Life: held.Life},
		{Task: waits, Life: held.Life},
		{Task: waits, Token: "1", Life: held.Life},
		{Task: held.Task, Token: "no token \x00 of anybody's", Life: held.Life},
		{Task: "not there", Token: "0", Life: held.Life},
	}
	for _, lease := range none {
		a.lost(lease)
		a.release(lease)
	}
	b.renew(b.first(waits))
	b.nothing()
	a.renew(held)
}

// queueRelease: as if nobody had taken it.
func queueRelease(_ *testing.T, a, b line) {
	lease := a.begin("a")
	for range 3 {
		a.release(lease)
		a.lost(lease)
		next := b.first("a")
		a.nothing()
		a.lost(lease)
		b.renew(next)
		lease = next
		a, b = b, a
	}
	a.finish(lease)
	b.nothing()
}

func queueReleaseEnded(t *testing.T, a, b line) {
	for _, status := range []protocol.TaskStatus{protocol.TaskCompleted, protocol.TaskFailed, protocol.TaskCancelled, protocol.TaskInputRequired} {
		lease := a.begin(string(status))
		b.turn(lease.Task, status)
		a.release(lease)
		b.nothing()
		if r, ok := b.get(lease.Task); !ok || r.Status != status {
			t.Errorf("it is %s, it was %s", r.Status, status)
		}
	}
}

// queueReleaseTwice: a lease that is released is nobody's, and gives nothing back.
func queueReleaseTwice(_ *testing.T, a, b line) {
	old := a.begin("a")
	a.release(old)
	a.release(old)
	lease := b.first("a")
	b.nothing()
	a.release(old)
	a.nothing()
	b.renew(lease)
	b.finish(lease)
	a.release(old)
	b.release(lease)
	b.nothing()
}

// queueAnsweredFirst: a task that asked and was answered before its worker has let go
// is in line for its next turn, once, and the lease of the turn before is worth nothing.
func queueAnsweredFirst(_ *testing.T, a, b line) {
	old := a.begin("a")
	a.turn("a", protocol.TaskInputRequired)
	a.lost(old)
	b.turn("a", protocol.TaskWorking)
	a.lost(old)
	a.release(old)
	lease := b.first("a") // it is still in line
	b.nothing()           // and not twice
	a.release(old)
	a.lost(old)
	b.nothing()
	b.renew(lease)

	b.turn("a", protocol.TaskInputRequired)
	a.turn("a", protocol.TaskWorking)
	next := a.first("a") // before the release
	b.release(lease)
	b.lost(lease)
	b.nothing()
	a.renew(next)
	a.finish(next)
	b.nothing()
}

// queueAskedAgain: many turns before anybody lets go.
func queueAskedAgain(_ *testing.T, a, b line) {
	leases := []task.Lease{a.begin("a")}
	for range 5 {
		b.turn("a", protocol.TaskInputRequired)
		a.turn("a", protocol.TaskWorking)
		b.turn("a", protocol.TaskInputRequired) // it was in line for nothing
		a.turn("a", protocol.TaskWorking)
		leases = append(leases, b.first("a"))
		b.nothing()
	}
	last := len(leases) - 1
	for _, old := range leases[:last] {
		a.lost(old)
		a.release(old)
	}
	b.nothing()
	b.renew(leases[last])
	b.release(leases[last])
	b.finish(a.first("a"))
	b.nothing()
}
