package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol/session"
)

// ending returns a record that expires a life from now.
func ending(id string, life time.Duration) session.Record {
	r := fresh(id)
	r.Expires = time.Now().Add(life)
	return r
}

// ends waits until the session has expired.
func (s sessions) ends(m mortal) {
	s.t.Helper()
	s.clock.end(s.t, m, func() bool {
		_, ok := s.get(m.key)
		return !ok
	})
	s.wantNothing(m.key)
}

// stays checks that the session outlives its first lifetime.
func (s sessions) stays(m mortal) {
	s.t.Helper()
	s.clock.pass(2 * m.life)
	if _, ok := s.get(m.key); !ok {
		s.t.Errorf("it is gone, its life was %v", m.life)
	}
	s.change(m.key, func(*session.Record) {})
}

// try updates the session, and returns an error if the session has already expired.
func (s sessions) try(id string, expires time.Time) error {
	r, err := s.store.Get(s.t.Context(), id)
	if err != nil {
		return fmt.Errorf("getting: %w", err)
	}
	r.Expires = expires
	if err := s.store.Update(s.t.Context(), r); err != nil {
		return fmt.Errorf("updating: %w", err)
	}
	return nil
}

func sessionsExpiry(t *testing.T, s sessions) {
	s.fill("stays")
	s.create(session.Record{ID: "for ever"})
	m := s.clock.young(t, func(id string, life time.Duration) error {
		s.create(ending(id, life))
		if _, ok := s.get(id); !ok {
			return errors.New("it is not there")
		}
		if err := s.store.Create(t.Context(), fresh(id)); !errors.Is(err, session.ErrExists) {
			return fmt.Errorf("created again: %s, want ErrExists", said(err))
		}
		return nil
	})
	s.ends(m)
	again := fresh(m.key)
	again.Principal, again.Data = "y", []byte("another life")
	s.create(again)
	s.want(again)
	s.clock.pass(2 * m.life) // its expiry is independent of the first record's
	s.want(again)
	for _, id := range []string{"stays", "for ever"} {
		s.want(s.change(id, func(*session.Record) {}))
	}
}

// sessionsStillborn: a record that has already expired is not found.
func sessionsStillborn(_ *testing.T, s sessions) {
	past := []time.Time{time.Now().Add(-time.Second), time.Now().Add(-100 * long), time.Unix(1, 0)}
	for i, end := range past {
		r := fresh(fmt.Sprint("created ", i))
		r.Expires = end
		s.create(r)
		s.wantNothing(r.ID)
		s.fill(r.ID)
		s.want(s.change(r.ID, func(*session.Record) {}))

		r = fresh(fmt.Sprint("updated ", i))
		s.create(r)
		r.Expires = end
		s.update(r)
		s.wantNothing(r.ID)

		r = fresh(fmt.Sprint("touched ", i))
		s.create(r)
		s.touch(r.ID, end)
		s.wantNothing(r.ID)
	}
}

func sessionsUpdateProlongs(t *testing.T, s sessions) {
	s.stays(s.clock.young(t, func(id string, life time.Duration) error {
		s.create(ending(id, life))
		return s.try(id, time.Now().Add(long))
	}))
}

func sessionsUpdateShortens(t *testing.T, s sessions) {
	s.ends(s.clock.young(t, func(id string, life time.Duration) error {
		s.fill(id)
		return s.try(id, time.Now().Add(life))
	}))
}

func sessionsTouchProlongs(t *testing.T, s sessions) {
	s.stays(s.clock.young(t, func(id string, life time.Duration) error {
		s.create(ending(id, life))
		return s.store.Touch(t.Context(), id, time.Now().Add(long))
	}))
}

func sessionsTouchShortens(t *testing.T, s sessions) {
	s.ends(s.clock.young(t, func(id string, life time.Duration) error {
		s.fill(id)
		return s.store.Touch(t.Context(), id, time.Now().Add(life))
	}))
}

func sessionsUnlimited(t *testing.T, s sessions) {
	s.stays(s.clock.young(t, func(id string, life time.Duration) error {
		s.create(ending(id, life))
		return s.store.Touch(t.Context(), id, time.Time{})
	}))
	s.stays(s.clock.young(t, func(id string, life time.Duration) error {
		s.remove(id)
		s.create(ending(id, life))
		return s.try(id, time.Time{})
	}))
}

func sessionsLimited(t *testing.T, s sessions) {
	s.ends(s.clock.young(t, func(id string, life time.Duration) error {
		s.create(session.Record{ID: id})
		return s.store.Touch(t.Context(), id, time.Now().Add(life))
	}))
}

func sessionsConflictLife(t *testing.T, s sessions) {
	s.ends(s.clock.young(t, func(id string, life time.Duration) error {
		s.create(ending(id, life))
		late := fresh(id)
		late.Version = 7
		if err := s.store.Update(t.Context(), late); !errors.Is(err, session.ErrConflict) {
			return fmt.Errorf("updating another version: %s, want ErrConflict", said(err))
		}
		return nil
	}))
}

// sessionsDeletedLife: a session after a deleted one does not inherit its expiry.
func sessionsDeletedLife(t *testing.T, s sessions) {
	s.stays(s.clock.young(t, func(id string, life time.Duration) error {
		s.create(ending(id, life))
		s.remove(id)
		s.fill(id)
		return nil
	}))
}

// sessionsNoMeaning: carriers and authorization servers keep many records that belong to no principal.
func sessionsNoMeaning(t *testing.T, s sessions) {
	const many = 300
	name := func(i int) string { return fmt.Sprint([]string{"node.", "as:grant:"}[i%2], i) }
	for i := range many {
		s.create(session.Record{ID: name(i), Data: []byte("data")})
	}
	m := s.clock.young(t, func(id string, life time.Duration) error {
		s.create(ending(id, life))
		return nil
	})
	s.ends(m)
	for i := range many {
		s.want(session.Record{ID: name(i), Version: 1, Data: []byte("data")})
	}
}
