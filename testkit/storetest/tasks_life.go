package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol"
	"github.com/kagami-mcp/kagami/protocol/task"
)

// mortal returns a record with the TTL.
func (s tasks) mortal(id string, ttl time.Duration) task.Record {
	r := s.record(id, "x")
	r.TTL = ttl
	return r
}

// ends waits until the task has expired.
func (s tasks) ends(l mortal) {
	s.t.Helper()
	s.clock.end(s.t, l, func() bool {
		_, ok := s.get(l.key)
		return !ok
	})
}

// there returns an error if Get or List does not return the task.
func (s tasks) there(id string) error {
	if _, ok := s.get(id); !ok {
		return errors.New("it is not there")
	}
	if !slices.Contains(ids(s.list("x", "", 99)), id) {
		return errors.New("it is not in the list")
	}
	return nil
}

// try updates the task, and returns an error if the task has already expired.
func (s tasks) try(id string, how func(r *task.Record)) error {
	r, err := s.store.Get(s.t.Context(), id)
	if err != nil {
		return fmt.Errorf("getting: %w", err)
	}
	how(&r)
	if err := s.store.Update(s.t.Context(), r); err != nil {
		return fmt.Errorf("updating: %w", err)
	}
	return nil
}

func tasksExpiry(_ *testing.T, s tasks) {
	s.fill("x", "stays")
	l := s.clock.young(s.t, func(id string, ttl time.Duration) error {
		first, done := s.mortal(id, ttl), s.mortal(id+", done", ttl) // both expire at the same time
		done.Status = protocol.TaskCompleted
		s.create(first)
		s.create(done)
		if n := s.count("x"); n < 2 {
			return fmt.Errorf("the count is %d", n)
		}
		return s.there(id)
	})
	s.ends(l)
	s.clock.pass(early) // both have expired now
	s.wantList("x", "", 9, "stays")
	s.wantCount("x", 1)
	s.wantNothing(l.key)
	s.wantNothing(l.key + ", done")
	again := s.record(l.key, "x")
	again.Journal = []byte("another life")
	s.create(again)
	again.Version = 1
	s.want(again)
	s.wantList("x", "", 9, "stays", l.key)
	s.wantCount("x", 2)
}

// tasksNotProlonged: the TTL is counted from the creation (2025-11-25 basic/utilities/tasks,
// "TTL"), regardless of later updates.
func tasksNotProlonged(_ *testing.T, s tasks) {
	s.ends(s.clock.young(s.t, func(id string, ttl time.Duration) error {
		s.create(s.mortal(id, ttl))
		s.clock.pass(ttl / 2)
		err := s.try(id, func(r *task.Record) { r.Status, r.Updated = protocol.TaskCompleted, s.now() })
		return errors.Join(err, s.there(id))
	}))
}

func tasksProlonged(_ *testing.T, s tasks) {
	s.staysAfter(func(r *task.Record) { r.TTL = long })
}

func tasksUnlimited(_ *testing.T, s tasks) {
	s.staysAfter(func(r *task.Record) { r.TTL = 0 })
}

// staysAfter checks that a task outlives its TTL after a change.
func (s tasks) staysAfter(how func(r *task.Record)) {
	s.t.Helper()
	l := s.clock.young(s.t, func(id string, ttl time.Duration) error {
		s.create(s.mortal(id, ttl))
		return s.try(id, how)
	})
	s.clock.pass(2 * l.life)
	if err := s.there(l.key); err != nil {
		s.t.Error(err)
	}
	if n := s.count("x"); n < 1 {
		s.t.Errorf("Count = %d", n)
	}
	s.change(l.key, func(*task.Record) {})
}

func tasksShortened(_ *testing.T, s tasks) {
	s.endsAfterChange(long)
}

func tasksLimited(_ *testing.T, s tasks) {
	s.endsAfterChange(0)
}

// endsAfterChange checks that a task expires by a TTL that it was given later.
func (s tasks) endsAfterChange(before time.Duration) {
	s.t.Helper()
	s.ends(s.clock.young(s.t, func(id string, ttl time.Duration) error {
		s.create(s.mortal(id, before))
		err := s.try(id, func(r *task.Record) { r.TTL = ttl })
		return errors.Join(err, s.there(id))
	}))
}

func tasksNoTTL(t *testing.T, s tasks) {
	s.create(s.mortal("a", 0))
	s.clock.pass(s.clock.lives()[0])
	if err := s.there("a"); err != nil {
		t.Error(err)
	}
	s.wantCount("x", 1)
}

func tasksListExpired(t *testing.T, s tasks) {
	s.fill("x", "first")
	n := 0
	l := s.clock.young(s.t, func(id string, ttl time.Duration) error {
		n++
		s.create(s.mortal(id, ttl))
		s.fill("x", fmt.Sprint("behind ", n))
		if err := s.there(id); err != nil {
			return err
		}
		if list := ids(s.list("x", id, 1)); !slices.Equal(list, []string{fmt.Sprint("behind ", n)}) {
			return fmt.Errorf("behind it is %q", list)
		}
		return nil
	})
	s.ends(l)
	s.wantList("x", l.key, 9, fmt.Sprint("behind ", n))
	s.fill("x", "last")
	s.wantList("x", l.key, 9, fmt.Sprint("behind ", n), "last")
	if list := ids(s.list("x", "", 99)); list[0] != "first" || slices.Contains(list, l.key) {
		t.Errorf("%q", list)
	}
}
