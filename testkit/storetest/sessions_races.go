package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/kagami-mcp/kagami/protocol/session"
)

func sessionsCreateRace(t *testing.T, s sessions) {
	for round := range 10 {
		id := fmt.Sprint("session ", round)
		var won [racers]bool
		race(func(i int) {
			r := fresh(id)
			r.Principal = fmt.Sprint("principal ", i)
			err := s.store.Create(t.Context(), r)
			if won[i] = err == nil; err != nil && !errors.Is(err, session.ErrExists) {
				t.Errorf("Create: %v", err)
			}
		})
		winner := only(t, won[:])
		if r, _ := s.get(id); r.Principal != fmt.Sprint("principal ", winner) {
			t.Errorf("%q has it, %d has won", r.Principal, winner)
		}
	}
}

// sessionsUpdateRace: if several goroutines have read the same version, exactly one writes the
// next.
func sessionsUpdateRace(t *testing.T, s sessions) {
	s.fill("a")
	for round := range uint64(20) {
		r, _ := s.get("a")
		if r.Version != round+1 {
			t.Fatalf("version %d in round %d", r.Version, round)
		}
		var won [racers]bool
		race(func(i int) {
			mine := r
			mine.Data = fmt.Append(nil, round, " by ", i)
			err := s.store.Update(t.Context(), mine)
			if won[i] = err == nil; err != nil && !errors.Is(err, session.ErrConflict) {
				t.Errorf("Update: %v", err)
			}
		})
		winner := only(t, won[:])
		if got, _ := s.get("a"); string(got.Data) != fmt.Sprint(round, " by ", winner) {
			t.Errorf("%q is stored, %d has won", got.Data, winner)
		}
	}
}

// note adds a byte to the data, even if many goroutines do so at the same time. It returns the
// version that it wrote.
func (s sessions) note(id string, what byte) uint64 {
	s.t.Helper()
	for tries := 0; tries <= racers; tries++ {
		r, _ := s.get(id)
		r.Data = append(r.Data, what)
		switch err := s.store.Update(s.t.Context(), r); {
		case err == nil:
			return r.Version + 1
		case !errors.Is(err, session.ErrConflict):
			s.t.Errorf("Update: %v", err)
			return 0
		}
	}
	s.t.Errorf("more than %d conflicts, there are %d others", racers, racers-1)
	return 0
}

// sessionsRetryRace: no change is lost if each goroutine tries again until it succeeds.
func sessionsRetryRace(t *testing.T, s sessions) {
	s.create(session.Record{ID: "a"})
	var wrote [racers]uint64
	race(func(i int) { wrote[i] = s.note("a", byte(i)) })
	r, _ := s.get("a")
	if r.Version != racers+1 || len(r.Data) != racers {
		t.Fatalf("version %d, %d bytes; want %d and %d", r.Version, len(r.Data), racers+1, racers)
	}
	for at, i := range r.Data {
		if int(i) >= racers || wrote[i] != uint64(at)+2 {
			t.Fatalf("byte %d is %d's, who wrote version %d", at, i, wrote[min(int(i), racers-1)])
		}
	}
}

// sessionsTouchRace: a Touch does not cause a conflict, and does not undo an Update.
func sessionsTouchRace(t *testing.T, s sessions) {
	s.create(session.Record{ID: "a"})
	race(func(i int) {
		if i%2 == 0 {
			s.note("a", byte(i))
			return
		}
		s.touch("a", time.Now().Add(long))
	})
	r, _ := s.get("a")
	if r.Version != racers/2+1 || len(r.Data) != racers/2 {
		t.Errorf("version %d, %d bytes; want %d and %d", r.Version, len(r.Data), racers/2+1, racers/2)
	}
}

// sessionsDeleteRace: only Create brings back a deleted record.
func sessionsDeleteRace(t *testing.T, s sessions) {
	for round := range 10 {
		id := fmt.Sprint("session ", round)
		s.fill(id)
		r, _ := s.get(id)
		race(func(i int) {
			var err error
			switch i % 3 {
			case 0:
				err = s.store.Update(t.Context(), r)
			case 1:
				err = s.store.Touch(t.Context(), id, time.Time{})
			case 2:
				s.remove(id)
			}
			if err != nil && !errors.Is(err, session.ErrNotFound) && !errors.Is(err, session.ErrConflict) {
				t.Errorf("%v", err)
			}
		})
		s.wantNothing(id)
	}
}
