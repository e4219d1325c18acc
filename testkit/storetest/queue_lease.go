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

// queueNoLease: a lease that was never given counts as lost.
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

// queueRelease: a released task is queued as if it had never been taken.
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

// queueReleaseTwice: a released lease is lost, and releasing it again has no effect.
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

// queueAnsweredFirst: a task asked and was answered before its worker released it. It is queued
// once for its next turn, and the lease of the earlier turn is lost.
func queueAnsweredFirst(_ *testing.T, a, b line) {
	old := a.begin("a")
	a.turn("a", protocol.TaskInputRequired)
	a.lost(old)
	b.turn("a", protocol.TaskWorking)
	a.lost(old)
	a.release(old)
	lease := b.first("a") // it is still queued
	b.nothing()           // not twice
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

// queueAskedAgain: a task has many turns before a release.
func queueAskedAgain(_ *testing.T, a, b line) {
	leases := []task.Lease{a.begin("a")}
	for range 5 {
		b.turn("a", protocol.TaskInputRequired)
		a.turn("a", protocol.TaskWorking)
		b.turn("a", protocol.TaskInputRequired) // its queue entry has no effect
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
